"""Prompt history under the arrow keys: the draft is kept while the past is leafed through."""

from __future__ import annotations

from collections.abc import Sequence

NOT_WORTH_IT = ("", "/", "@")
"""Drafts that were only begun."""


class PromptHistory:
    """Old prompts, newest last, and the draft below them."""

    def __init__(self, prompts: Sequence[str] = ()) -> None:
        self._prompts = list(prompts)
        self._at: int | None = None
        self._draft = ""

    @property
    def prompts(self) -> Sequence[str]:
        """All of them."""
        return self._prompts

    @property
    def at_draft(self) -> bool:
        """Whether what is shown is the draft itself."""
        return self._at is None

    def remember(self, prompt: str) -> None:
        """A prompt was sent (or a draft cleared): it is the newest now."""
        if prompt.strip() not in NOT_WORTH_IT and (not self._prompts or self._prompts[-1] != prompt):
            self._prompts.append(prompt)
        self._at = None

    def earlier(self, shown: str) -> str | None:
        """The prompt before the one shown; None at the oldest."""
        if self._at is None:
            self._draft = shown
            self._at = len(self._prompts)
        if self._at == 0:
            return None
        self._at -= 1
        return self._prompts[self._at]

    def later(self) -> str | None:
        """The prompt after it, at the end the draft; None when the draft is already shown."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._prompts):
            self._at = None
            return self._draft
        return self._prompts[self._at]
