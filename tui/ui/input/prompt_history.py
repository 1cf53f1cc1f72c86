"""Prompt history under the arrow keys; keeps the draft while the user browses."""

from __future__ import annotations

from collections.abc import Sequence

NOT_WORTH_IT = ("", "/", "@")
"""Drafts too short to keep."""


class PromptHistory:
    """Earlier prompts, newest last, and the draft after them."""

    def __init__(self, prompts: Sequence[str] = ()) -> None:
        self._prompts = list(prompts)
        self._at: int | None = None
        self._draft = ""

    @property
    def prompts(self) -> Sequence[str]:
        return self._prompts

    @property
    def at_draft(self) -> bool:
        """Whether the draft itself is shown."""
        return self._at is None

    def remember(self, prompt: str) -> None:
        """Add a sent prompt or a cleared draft as the newest."""
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
        """The next prompt, after the newest the draft; None if the draft is already shown."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._prompts):
            self._at = None
            return self._draft
        return self._prompts[self._at]
