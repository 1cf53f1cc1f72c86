"""What the chat template of a model says about it. The template is searched, not run."""

from __future__ import annotations

from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFacts:
    """What a model with this template can do."""

    thinks: bool
    switch: str
    """The variable that switches thinking; "" if thinking cannot be switched off."""
    efforts: bool
    """It reads ``reasoning_effort``."""
    tools: bool
    images: bool
    """It takes images; seeing them also needs the part of the model that does."""


_THINKS = lazy_regex(
    r"</?think>|<thinking>|<seed:think>|<\|START_THINKING\|>|\[THINK\]|◁think▷|<\|channel\|?>(?:analysis|thought)"
    r"|\benable_thinking\b|\breasoning_effort\b"
)
_SWITCHES = {
    "enable_thinking": lazy_regex(r"\benable_thinking\b"),
    "thinking": lazy_regex(r"\{%-?\s*(?:if|elif|set)\b[^%]*(?<![\w.'\"])thinking\b(?!['\"])"),
}
_TOOLS = lazy_regex(r"\{[%{][^%{}]*(?<![\w.'\"])tools\b(?!['\"])")
_IMAGES = lazy_regex(r"image_pad|vision_start|start_of_image|<image>|\[IMG\]|<__media__>|['\"]image(?:_url)?['\"]")


def template_facts(template: str) -> TemplateFacts:
    """Return what a template says; an empty one says that the model can do nothing special."""
    return TemplateFacts(
        thinks=_THINKS.search(template) is not None,
        switch=next((name for name, switch in _SWITCHES.items() if switch.search(template)), ""),
        efforts="reasoning_effort" in template,
        tools=_TOOLS.search(template) is not None,
        images=_IMAGES.search(template) is not None,
    )
