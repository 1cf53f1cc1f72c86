"""Writes the answer as plain text to stdout, everything else to stderr."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from tui.domain.assemble import RepeatedText, whole_text
from tui.domain.blocks import TextBlock
from tui.domain.citations import source_lines
from tui.domain.errors import PonderError
from tui.domain.events import (
    AppEvent,
    AttemptReset,
    MessageCompleted,
    Notice,
    RequestStarted,
    RetryScheduled,
    SaveFailed,
    Streamed,
    ToolFinished,
    ToolStarted,
)
from tui.domain.printable import one_line, printable
from tui.domain.stream import (
    BlockFinished,
    ModelLoading,
    PromptRead,
    ResponseStarted,
    SearchReported,
    TextDelta,
    ThinkingDelta,
)
from tui.domain.thinking import PlanState
from tui.domain.web_search import WEB_SEARCH, WebSearch, error_sentence
from tui.headless.run_result import PARAGRAPH, ExitCode, RunResult, cited_sources, received

_CLEAR_LINE = "\r\x1b[K"


class TextWriter:
    """Writes text as it arrives. After a retry, text that is already on stdout is not written again."""

    def __init__(
        self, out: TextIO, err: TextIO, *, show_thinking: bool, level_chosen: bool = True, checked: bool = False
    ) -> None:
        """``checked``: the answer is checked at its end and not written before."""
        self._out = out
        self._err = err
        self._show_thinking = show_thinking
        self._level_chosen = level_chosen
        self._checked = checked
        self._out_is_terminal = out.isatty()
        self._err_is_terminal = err.isatty()
        self._attempt: tuple[int, int] = (0, 0)
        self._message = RepeatedText()
        """The text of this message on stdout so far."""
        self._last = ""
        """The last character of the answer if it is not ASCII; only set for a terminal."""
        self._any_text = False
        self._so_far = False
        """This attempt at an answer has text."""
        self._searched = False
        """A search came after the last text: the next one is a paragraph of its own."""
        self._line_ended = True
        self._thinking_open = False
        self._joiner = SurrogateJoiner()
        self._warned: set[str] = set()
        self._loading = False
        """The line about the loading of a model is shown."""

    def take(self, event: AppEvent) -> None:
        """Write one event."""
        match event:
            case RequestStarted(plan=plan):
                self._joiner = SurrogateJoiner()
                self._searched = self._so_far = False
                # Only users who chose a level need to know that the model has none.
                if self._level_chosen or plan.state not in (PlanState.UNSUPPORTED, PlanState.UNCONTROLLED):
                    self._warn(plan.warnings)
            case Streamed(event=TextDelta(_, text)):
                if not self._checked:
                    self._write_text(self._joiner.take(text))
            case Streamed(event=ThinkingDelta(_, text)) if self._show_thinking:
                self._thinking_open = True
                self._err.write(self._escaped(text, terminal=self._err_is_terminal))
            case Streamed(event=BlockFinished()):
                self._end_thinking()
            case Streamed(event=ModelLoading() | PromptRead() as progress) if self._err_is_terminal:
                self._show_progress(progress)
            case AttemptReset() | Streamed(event=ResponseStarted(restarted=True)):
                self._message.begin_again()
                self._end_thinking()
            case MessageCompleted(_, _, message) if not message.superseded:
                self._message = RepeatedText()
            case _:
                self._write_event(event)

    def end(self, result: RunResult) -> None:
        """Finish the last line and report the error."""
        self._end_thinking()
        if self._checked:
            self._put(result.checked.text if result.checked is not None else received(result))
        if not self._line_ended:
            self._out.write("\n")
        if not self._checked and (cited := cited_sources(result)):
            self._out.write("\n".join(["", "Sources:", *source_lines(cited), ""]))
        if result.error is not None:
            self._write_error(result.error)
        elif result.exit is ExitCode.NO_WHOLE_ANSWER and not received(result).strip():
            self._note("The answer has no text.")
        self.flush()

    def flush(self) -> None:
        self._out.flush()
        self._err.flush()

    def _show_progress(self, progress: ModelLoading | PromptRead) -> None:
        """One line that is written over, and is gone when that is done or failed."""
        if isinstance(progress, ModelLoading):
            what, done = "loading the model", progress.done
        else:
            what, done = "reading the prompt", progress.share >= 1
        if done:
            self._end_progress()
        else:
            percent = f" {progress.share:.0%}" if progress.share is not None else ""
            self._err.write(f"{_CLEAR_LINE}ponder: {what} …{percent}")
            self._loading = True

    def _end_progress(self) -> None:
        if self._loading:
            self._err.write(_CLEAR_LINE)
            self._loading = False

    def _note_search(self, search: WebSearch) -> None:
        """Report what is searched for, and a failure, once each."""
        self._searched = True
        if search.subject:
            self._warn([f"{WEB_SEARCH} {one_line(search.subject, 200)}"])
        if search.error:
            self._warn([f"{WEB_SEARCH}: {one_line(error_sentence(search.error), 200)}"])

    def _warn(self, warnings: Sequence[str]) -> None:
        """Report each warning of the plan once."""
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self._note(warning)

    def _write_text(self, text: str) -> None:
        if not text:
            return
        if self._searched:
            self._searched, text = False, f"{PARAGRAPH}{text}" if self._so_far else text
        self._so_far = True
        is_first = not self._message.text
        fresh, is_new = self._message.take(text)
        if not fresh:
            return
        if is_new:
            self._err.write("\nponder: the answer began anew; it follows in full\n")
        if (is_first or is_new) and self._any_text:
            self._put(PARAGRAPH)
        self._put(fresh)

    def _put(self, text: str) -> None:
        self._out.write(self._continued(text) if self._out_is_terminal else text)
        self._any_text = True
        self._line_ended = text.endswith("\n")

    def _continued(self, text: str) -> str:
        """Printable text in the context of the last character: a delta may begin in the middle of an emoji."""
        before, self._last = self._last, text[-1:] if text[-1:] > "\x7f" else ""
        return printable(before + text)[len(printable(before)) :]

    def _end_thinking(self) -> None:
        if self._thinking_open:
            self._err.write("\n")
            self._thinking_open = False

    def _write_event(self, event: AppEvent) -> None:
        match event:
            case Streamed(event=SearchReported(_, search)):
                self._note_search(search)
            case Notice(_, text, advice):
                self._note(f"{text} {advice}".strip())
            case RetryScheduled(_, wait_s, _, error):
                self._note(f"{_ended(error.message)} Trying again in {wait_s:.1f} s.")
            case SaveFailed(message):
                self._note(f"NOT SAVED: {message}")
            case ToolStarted(_, _, name, arguments):
                self._note(f"{name} {one_line(arguments, 100)}")
            case ToolFinished(result=result) if result.failed:
                text = next((part.text for part in result.content if isinstance(part, TextBlock)), "")
                self._note(f"{result.name}: {one_line(text, 300)}")
            case _:
                pass

    def _write_error(self, error: PonderError) -> None:
        self._note(f"{_ended(error.message)} {error.advice}".strip() if error.advice else error.message)

    def _note(self, sentence: str) -> None:
        if self._loading:
            self._end_progress()
        self._err.write(self._escaped(f"ponder: {sentence}\n", terminal=True))

    def _escaped(self, text: str, *, terminal: bool) -> str:
        """Escapes control characters for a terminal; text for files is unchanged."""
        return printable(text) if terminal else text


def _ended(sentence: str) -> str:
    """The sentence with a full stop, so that another can follow; providers often omit it."""
    return sentence if sentence.rstrip()[-1:] in tuple(".!?…:;") else f"{sentence.rstrip()}."


class SurrogateJoiner:
    """Joins the text of one block."""

    def __init__(self) -> None:
        self._held = ""

    def take(self, text: str) -> str:
        """The text that can be written now."""
        pieces = self._held + text
        self._held = ""
        if pieces and "\ud800" <= pieces[-1] <= "\udbff":
            pieces, self._held = pieces[:-1], pieces[-1]
        return whole_text([pieces])
