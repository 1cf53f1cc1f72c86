"""Error codes and message phrases of the providers, by kind of error.

The patterns are plain alternations without nested repetition, so that they take linear time on hostile text.
"""

from __future__ import annotations

import re

from tui.domain.errors import ErrorKind
from tui.domain.lazy_regex import lazy_regex

_K = ErrorKind

KIND_OF_CODE = {
    # OpenAI and compatible servers
    "insufficient_quota": _K.BILLING,
    "billing_hard_limit_reached": _K.BILLING,
    "billing_not_active": _K.BILLING,
    "account_deactivated": _K.PERMISSION,
    "forbidden": _K.PERMISSION,
    "context_length_exceeded": _K.CONTEXT_OVERFLOW,
    "string_above_max_length": _K.CONTEXT_OVERFLOW,
    "rate_limit_exceeded": _K.RATE_LIMIT,
    "rate_limit_error": _K.RATE_LIMIT,
    "rate_limit_reached": _K.RATE_LIMIT,
    "too_many_requests": _K.RATE_LIMIT,
    "tokens": _K.RATE_LIMIT,
    "requests": _K.RATE_LIMIT,
    "unsupported_value": _K.UNSUPPORTED,
    "unsupported_parameter": _K.UNSUPPORTED,
    "unknown_parameter": _K.UNSUPPORTED,
    "invalid_encrypted_content": _K.INVALID_SIGNATURE,
    "thinking_signature_invalid": _K.INVALID_SIGNATURE,
    "invalid_api_key": _K.AUTH,
    "authentication_error": _K.AUTH,
    "invalid_authentication_error": _K.AUTH,
    "unauthorized": _K.AUTH,
    "unauthenticated": _K.AUTH,
    "model_not_found": _K.NOT_FOUND,
    "not_found_error": _K.NOT_FOUND,
    "not_found": _K.NOT_FOUND,
    "deploymentnotfound": _K.NOT_FOUND,
    "content_filter": _K.CONTENT_FILTER,
    "content_policy_violation": _K.CONTENT_FILTER,
    "responsibleaipolicyviolation": _K.CONTENT_FILTER,
    "invalid_prompt": _K.CONTENT_FILTER,
    "cyber_policy": _K.CONTENT_FILTER,
    "data_inspection_failed": _K.CONTENT_FILTER,
    "datainspectionfailed": _K.CONTENT_FILTER,
    "server_error": _K.SERVER,
    "internal_error": _K.SERVER,
    "internal_server_error": _K.SERVER,
    "server_is_overloaded": _K.OVERLOADED,
    "slow_down": _K.OVERLOADED,
    "engine_overloaded_error": _K.OVERLOADED,
    "exceeded_current_quota_error": _K.BILLING,
    "rate_limit_reached_error": _K.RATE_LIMIT,
    "usage_limit_reached": _K.RATE_LIMIT,
    "permission_denied_error": _K.PERMISSION,
    # Anthropic
    "overloaded_error": _K.OVERLOADED,
    "api_error": _K.SERVER,
    "timeout_error": _K.TIMEOUT,
    "permission_error": _K.PERMISSION,
    "billing_error": _K.BILLING,
    "request_too_large": _K.TOO_LARGE,
    "invalid_request_error": _K.INVALID_REQUEST,
    "prompt_too_long": _K.CONTEXT_OVERFLOW,
    # Google
    "resource_exhausted": _K.RATE_LIMIT,
    "unavailable": _K.OVERLOADED,
    "deadline_exceeded": _K.TIMEOUT,
    "internal": _K.SERVER,
    "invalid_argument": _K.INVALID_REQUEST,
    "failed_precondition": _K.INVALID_REQUEST,
    "permission_denied": _K.PERMISSION,
    # llama.cpp, DeepSeek, Bedrock, Z.ai
    "exceed_context_size_error": _K.CONTEXT_OVERFLOW,
    "unavailable_error": _K.OVERLOADED,
    "insufficient_system_resource": _K.OVERLOADED,
    "throttlingexception": _K.RATE_LIMIT,
    "model_context_window_exceeded": _K.CONTEXT_OVERFLOW,
    "1113": _K.BILLING,
    "1261": _K.CONTEXT_OVERFLOW,
    "1301": _K.CONTENT_FILTER,
    "1302": _K.RATE_LIMIT,
    "1305": _K.RATE_LIMIT,
    # MiniMax
    "1002": _K.RATE_LIMIT,
    "1004": _K.AUTH,
    "1008": _K.BILLING,
    "1039": _K.RATE_LIMIT,
    "2013": _K.INVALID_REQUEST,
}
"""Error codes and types, in lower case."""


def _any_of(*phrases: str) -> re.Pattern[str]:
    return lazy_regex("|".join(phrases), re.I)


BILLING = _any_of(
    r"insufficient[_ ](?:quota|funds|balance|credits?)",
    r"exceeded your current quota, please check your plan and billing",
    r"credit balance is too low",
    r"(?:not enough|no|out of|ran out of|insufficient) (?:credits?|balance|funds)\b",
    r"requires more credits",
    r"can only afford",
    r"billing (?:hard )?limit",
    r"billing (?:is )?not (?:active|enabled)",
    r"payment required",
    r"\blimit: ?0\b",
    r"per[_ -]?day\b",
    r"GenerateRequestsPerDay|GenerateContentPerDay|PerDayPer",
    r"used all available credits|monthly spending limit|spending limit",
    r"suspended due to insufficient",
    r"arrearage|account is in arrears",
    r"余额不足|欠费",
)
INVALID_SIGNATURE = _any_of(
    r"invalid [`'\"]?signature[`'\"]? in [`'\"]?(?:thinking|redacted)",
    r"(?:thinking|reasoning)[^.]{0,80}\bsignature",
    r"thought[_ ]?signature",
    r"block is bound to a different conversation",
    r"expected [`'\"]?thinking[`'\"]? or [`'\"]?redacted_thinking",
    r"[`'\"]?redacted_thinking[`'\"]? blocks[^.]{0,80}cannot be modified",
    r"(?:invalid|could not|cannot|failed to|unable to)[^.]{0,60}"
    r"(?:redacted_thinking|encrypted[_ ]content|reasoning blocks?)",
    r"encrypted[_ ]content[^.]{0,80}(?:invalid|could not|cannot|failed|mismatch|not be)",
    r"without its required (?:['\"`]?reasoning['\"`]? item|following item)",
    r"item with id ['\"]?rs_[^ ]{1,80} not found",
    r"reasoning_details[^.]{0,60}(?:invalid|could not|missing)",
)
THINKING_MISSING = _any_of(
    r"reasoning_content[^.]{0,80}(?:passed back|is missing|must be|required)",
    r"missing[^.]{0,40}reasoning_content",
)
RATE_LIMIT = _any_of(
    r"rate[_ -]?limit",
    r"too many (?:requests|concurrent)",
    r"requests? rate|request frequency|concurrency limit|concurrent requests",
    r"(?:tokens?|requests?|input tokens|output tokens)[ _]per[ _](?:min|sec|hour)",
    r"per[ _-]?minute",
    r"\b(?:TPM|RPM|RPS|ITPM|OTPM)\b",
    r"throttl",
    r"quota (?:exceeded|limit)|exceeded your (?:current )?quota|resource (?:has been |is )?exhausted",
    r"usage limit|session limit|weekly limit|hourly limit",
    r"slow down",
    r"too many tokens[, ]{1,2}please wait",
    r"(?:please )?(?:try again|retry) in \d",
    r"访问量过大|请求过于频繁|并发",
)
CONTEXT_OVERFLOW = _any_of(
    r"(?:prompt|input|request|conversation|message|context)s? (?:is|are|was|text is)? ?too long",
    r"prompt exceeds max",
    r"(?:exceed|larger|greater|longer|over|beyond|surpass)[a-z]{0,4} (?:than )?(?:the |your |this |its |our )?"
    r"(?:available |maximum |max |model'?s? |allowed |total |configured |allocated |max_model_len )*"
    r"(?:maximum |max )?(?:context|input|prompt|token)[ _-]?(?:window|length|size|limit|tokens|token limit|count|$)",
    r"maximum (?:context|prompt|input|model|token|sequence)[ _-]?(?:length|tokens?|window|limit|size)",
    r"max(?:imum)? (?:context|prompt|input|model|sequence)[ _-]?len",
    r"context[ _-]?(?:length|window|size|limit)[ _-]?(?:is |was |has been |limit )?"
    r"(?:exceed|overflow|reached|full|too small)",
    r"context[_ ](?:length|window)[_ ]exceeded",
    r"exceeds? (?:the )?context",
    r"exceeded model token limit",
    r"input token count[^.]{0,60}exceeds",
    r"reduce (?:the )?(?:length|size|number) of (?:the |your )?(?:messages|prompt|input|tokens|context)",
    r"reduce your (?:prompt|input|messages)",
    r"(?:too large|too long) for model with \d{1,9} maximum context",
    r"range of input length should be",
    r"too many (?:input |total |prompt )?tokens",
    r"input (?:length|tokens?) (?:and `?max_tokens`? )?(?:exceed|is too)",
    r"input is too (?:long|large) for (?:requested )?(?:model|this)",
    r"(?:prompt|input) (?:tokens?|length|contains) [^.]{0,60}(?:exceed|greater than|larger than|more than|limit)",
    r"exceeds? the (?:model'?s? )?(?:limit|maximum)(?: number)? of \d{1,9}(?: input)? tokens",
    r"token(?:s)? (?:count|limit|length)[^.]{0,40}exceed",
    r"(?:does not|doesn't|cannot|won't) fit (?:in|into|within) (?:the |its )?(?:model'?s? )?context",
    r"more tokens than the (?:model|context)",
    r"n_keep[^.]{0,40}n_ctx|n_ctx[^.]{0,40}exceed|kv cache is full",
    r"输入(?:长度|过长)|上下文(?:长度|超)|超过.{0,12}(?:上下文|最大长度)",
)
CONTENT_FILTER = _any_of(
    r"content[_ ](?:filter|management policy|policy)",
    r"safety (?:system|settings|polic)",
    r"inappropriate content|sensitive content|contains sensitive|unsafe or sensitive",
    r"(?:flagged|blocked|rejected) (?:as|by|for|due to)[^.]{0,60}(?:usage polic|safety|moderation|policy|filter)",
    r"usage polic(?:y|ies)",
    r"敏感内容|不安全或敏感",
)
OVERLOADED = _any_of(
    r"overloaded",
    r"at capacity|over capacity|no capacity|capacity constraints",
    r"loading model|model is (?:currently )?loading",
    r"server(?: is)? busy|currently (?:unavailable|experiencing high)",
    r"high (?:demand|load)|no available (?:server|instance|provider)",
)
NOT_TAKEN = _any_of(
    r"unsupported (?:parameter|value|field|argument)",
    r"(?:unknown|unrecognized|unexpected|unpermitted) (?:request )?"
    r"(?:parameter|argument|field|name|key|property|keyword)",
    r"extra (?:inputs|fields) (?:are )?not (?:permitted|allowed)|extra_forbidden",
    r"(?:is|are) not supported (?:with|for|by|on|when|while)",
    r"(?:does|do) not support",
    r"not supported (?:with|by|for) this model",
    r"is (?:deprecated|not allowed|not permitted|not available) (?:for|with|on) this model",
    r"(?:may|can) only be set to \S{1,12} when",
    r"only \S{1,12} is allowed for this model",
    r"thinking (?:level|budget|is)[^.]{0,20} not supported|budget (?:0|\d{1,6}) is invalid",
    r"only works in thinking mode",
    r"\bcache_control\b|\bprompt_cache_options\b",
    r"(?:property|field|parameter) ['\"`][\w.]{1,80}['\"`] is (?:unsupported|unknown|not allowed)",
)
NO_KEY_OR_WRONG = _any_of(
    r"(?:invalid|incorrect|missing|expired|no|wrong)[^.]{0,20}"
    r"(?:api[ _-]?key|x-api-key|auth|credentials|token provided)",
    r"api[ _-]?key (?:not valid|is invalid|not found|expired|is missing|not provided)",
    r"unauthori[sz]ed|unauthenticated",
)
NO_SUCH_MODEL = _any_of(
    r"model[^.]{0,80}(?:not found|does not exist|not exist|is not available|has been (?:deprecated|retired|shut down))",
    r"(?:unknown|no such|invalid|unsupported) model|not a valid model|try pulling it first",
)
TIMED_OUT = _any_of(r"timed? ?out|deadline exceeded")

_PARAMETER = tuple(
    lazy_regex(pattern, re.I)
    for pattern in (
        r"\b([A-Za-z_][\w.]{1,79}) ['\"`][\w.-]{1,40}['\"`] (?:is|are) not",
        r"['\"]body['\"], ?['\"]([A-Za-z_]\w{0,79})['\"]",
        r"\n([a-z_]{2,60})\n\s+extra inputs are not",
        r"(?:parameter|value|argument|field|name|key|property)s?(?: supplied)?:? \[?['\"`]?([A-Za-z_][\w.\[\]-]{0,79})",
        r"['\"`]?([A-Za-z_][\w.\[\]-]{0,79})['\"`]?: extra (?:inputs|fields)",
        r"['\"`]([A-Za-z_][\w.\[\]-]{0,79})['\"`] (?:parameter )?(?:is|are|may|can|does)\b",
        r"invalid ([A-Za-z_][\w.]{0,79}): only",
        r"\b([a-z]+(?:[_.][a-z_]+)+)['\"`]? (?:parameter )?(?:is|are|may|can|does) (?:not|only|deprecated)",
        r"does not support (?:parameter |the )?['\"`]?([A-Za-z_][\w.]{0,79})",
    )
)
_NAMED_BY_PHRASE = (
    (lazy_regex(r"\bcache_control\b|prompt caching", re.I), "cache_control"),
    (lazy_regex(r"\bprompt_cache_options\b", re.I), "prompt_cache_options"),
    (lazy_regex(r"does not support thinking", re.I), "think"),
    (lazy_regex(r"thinking level", re.I), "thinkingLevel"),
    (lazy_regex(r"thinking is not supported", re.I), "thinking"),
    (lazy_regex(r"thinking budget|thinking_budget|budget \d{1,6} is invalid", re.I), "thinkingBudget"),
)
_NOT_A_NAME = frozenset(
    {"is", "for", "not", "the", "a", "this", "supplied", "with", "of", "are", "name", "model", "in"}
)


def refused_parameter(message: str) -> str | None:
    """Return the parameter that a message rejects, as spelled in the message, or None if it names none."""
    for phrase, name in _NAMED_BY_PHRASE:
        if phrase.search(message):
            return name
    for pattern in _PARAMETER:
        found = pattern.search(message)
        if found and found[1].lower() not in _NOT_A_NAME:
            return found[1].rstrip(".")
    return None


_WORDS = 4_000
"""Characters of a message that are examined."""
_N = r"`?(\d{1,9})`?"
_TOO_MUCH_TOGETHER = tuple(
    lazy_regex(pattern, re.I)
    for pattern in (
        # Each contains the window and the input, in either order.
        r"context length is (?P<window>\d{1,9}) tokens and your request has (?P<input>\d{1,9}) input",
        r"passed (?P<input>\d{1,9}) input tokens[^.]{0,80}\.[^.]{0,80}context length is (?:only )?(?P<window>\d{1,9})",
        r"exceed context limit: (?P<input>\d{1,9}) \+ \d{1,9} > (?P<window>\d{1,9})",
        r"max_new_tokens`? must be <= (?P<window>\d{1,9})[^0-9]{1,20}(?P<input>\d{1,9}) `?inputs",
        r"context length of (?P<window>\d{1,9}) tokens[^0-9]{1,60}\d{1,9} tokens: (?P<input>\d{1,9}) tokens from the",
    )
)
_REQUESTED = lazy_regex(
    r"context length is (?P<window>\d{1,9}) tokens[^0-9]{1,60}(?P<total>\d{1,9}) tokens \((?P<parts>[^)]{1,200})\)",
    re.I,
)
_OUTPUT_PART = lazy_regex(r"(\d{1,9}) (?:tokens )?(?:in|for) the (?:completion|output)", re.I)
_LIMIT = r"max(?:_completion|_output|_new)?_?(?:tokens|OutputTokens)"
_MODELS_MOST = tuple(
    lazy_regex(pattern, re.I)
    for pattern in (
        rf"{_LIMIT}`?: \d{{1,9}} > {_N}",
        rf"{_LIMIT}[^.]{{0,60}}\.[^.]{{0,40}}supports at most {_N}",
        rf"range of `?{_LIMIT}`? (?:is|should be) \[\d{{1,9}}, ?{_N}\]",
        rf"{_LIMIT}`? must be (?:less than or equal to|at most|<=) {_N}",
        rf"{_LIMIT}`?[^.]{{0,40}} exceeds (?:the |its )?(?:maximum|limit)(?: of)? {_N}",
    )
)
_EXCLUSIVE = lazy_regex(rf"{_LIMIT}[^.]{{0,120}}\(inclusive\) to (\d{{1,9}}) \(exclusive\)", re.I)


def output_room(message: str) -> int | None:
    """Return the largest output limit the server would accept; None if the message is about something else.

    The result is 0 or less if the prompt alone fills the window.
    """
    searched = message[:_WORDS]
    for pattern in _TOO_MUCH_TOGETHER:
        if found := pattern.search(searched):
            return int(found["window"]) - int(found["input"])
    if found := _REQUESTED.search(searched):
        output = _OUTPUT_PART.findall(found["parts"])
        return int(found["window"]) - int(found["total"]) + int(output[-1]) if output else None
    for pattern in _MODELS_MOST:
        if found := pattern.search(searched):
            return int(found[1])
    found = _EXCLUSIVE.search(searched)
    return int(found[1]) - 1 if found else None
