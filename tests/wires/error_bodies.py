"""Error texts as providers word them: full context windows, and rate limits that must not be taken for one."""

OVERFLOWS = (
    (400, None, "prompt is too long: 213462 tokens > 200000 maximum"),
    (400, None, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length"),
    (413, None, "Prompt is too long"),
    (400, "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input."),
    (400, None, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    (None, "context_length_exceeded", "Your input exceeds the context window of this model."),
    (
        400,
        None,
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens. "
            "Please reduce the length of the messages."
        ),
    ),
    (
        400,
        "invalid_request_error",
        (
            "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (8000 in "
            "the messages, 1000 in the completion)."
        ),
    ),
    (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    (400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed 1048576."),
    (400, None, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    (400, None, "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens."),
    (400, "context_length_exceeded", "Please reduce the length of the messages or completion."),
    (400, None, "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192"),
    (400, None, "Prompt contains 140000 tokens, too large for model with 131072 maximum context length"),
    (400, "InvalidParameter", "Range of input length should be [1, 129024]"),
    (400, None, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
    (400, None, "invalid params, context window exceeds limit (2013)"),
    (400, "2013", "invalid params, context window exceeds limit"),
    (
        400,
        "invalid_request_error",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 300001)",
    ),
    (400, "1261", "Prompt exceeds max length"),
    (400, None, "Prompt too long"),
    (
        400,
        "exceed_context_size_error",
        "the request exceeds the available context size, try increasing it",
    ),
    (500, None, "the request exceeds the available context size. try increasing the context size"),
    (400, None, "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it"),
    (
        400,
        None,
        (
            "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: "
            "5000>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."
        ),
    ),
    (
        400,
        None,
        (
            "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with "
            "context length of only 4096 tokens, which is not enough. context length exceeded"
        ),
    ),
    (400, None, "prompt too long; exceeded max context length by 1200 tokens"),
    (400, None, "input length exceeds maximum context length"),
    (400, None, "the input length exceeds the context length"),
    (400, None, "Input is too long for requested model."),
    (400, "ValidationException", "Input is too long for this model"),
    (400, None, "max_tokens is too large: the prompt exceeds the model's maximum context length of 32768 tokens"),
    (
        422,
        None,
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: input tokens exceed "
            "the maximum"
        ),
    ),
    (400, None, "The decoder prompt (length 40000) is longer than the maximum model length of 32768."),
    (400, None, "total tokens of image and text exceed max message tokens: maximum context length"),
    (400, None, "Requested token count exceeds the model's maximum context length of 131072 tokens."),
    (413, None, "The request is too large for the model: too many tokens in the prompt"),
    (None, None, "Requested tokens (5000) exceed context window of 4096"),
    (None, "model_context_window_exceeded", "The model's context window was exceeded"),
    (400, None, "too many total text tokens: context window exceeded"),
    (400, "string_above_max_length", "Invalid 'input[0].content': string too long."),
    (429, None, "Your request exceeds the model's context window of 1000000 tokens"),
    (400, None, "conversation is too long for this model"),
    (400, None, "The prompt size exceeds the context window size and cannot be processed."),
    (400, None, "输入长度超过模型最大上下文长度"),
)
"""Status, code, message."""

RATE_LIMITS = (
    (
        429,
        "rate_limit_exceeded",
        (
            "Rate limit reached for gpt-5.5 in organization org-x on tokens per min (TPM): Limit "
            "30000, Used 29000, Requested 5000. Please try again in 8s."
        ),
    ),
    (
        429,
        "rate_limit_exceeded",
        (
            "Request too large for gpt-5.5 in organization org-x on tokens per min (TPM): Limit 30000, "
            "Requested 41000. The input or output tokens must be reduced in order to run successfully."
        ),
    ),
    (
        413,
        "rate_limit_exceeded",
        (
            "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000, "
            "please reduce your message size and try again."
        ),
    ),
    (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    ),
    (429, "rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit"),
    (
        429,
        "rate_limit_error",
        "This request would exceed the rate limit for your organization of 8,000 output tokens per minute.",
    ),
    (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    (429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Generate Content API requests per minute'"),
    (
        429,
        "RESOURCE_EXHAUSTED",
        (
            "You exceeded your current quota. Quota exceeded for metric: input_token_count, limit: "
            "250000. Please retry in 34.07s."
        ),
    ),
    (429, None, "Too many tokens, please wait before trying again."),
    (400, "ThrottlingException", "Too many tokens, please wait before trying again."),
    (429, None, "Too many requests, please wait before trying again."),
    (429, None, "Too Many Requests"),
    (429, None, "Rate limit exceeded: free-models-per-min. "),
    (429, "1302", "Rate limit reached for requests"),
    (429, "1305", "The model is being rate limited: too many requests"),
    (429, "1302", "您的账户已达到速率限制，请您控制请求频率"),
    (429, None, "Requests rate limit exceeded"),
    (429, None, "Tokens per minute limit exceeded: too many tokens processed."),
    (429, "token_quota_exceeded", "Tokens per minute limit exceeded - too many tokens processed."),
    (429, "request_quota_exceeded", "Requests per minute limit exceeded - too many requests sent."),
    (
        429,
        "rate_limit_reached_error",
        "Your account reached max organization concurrency: 3, please try again after 1 second",
    ),
    (429, "rate_limit_reached_error", "request reached organization TPM rate limit, current: 33000, limit: 32000"),
    (429, "limit_requests", "You have exceeded your current request limit per minute"),
    (429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later."),
    (
        429,
        "Throttling.AllocationQuota",
        "Allocated quota exceeded, please increase your quota limit: tokens per minute.",
    ),
    (None, "rate_limit_exceeded", "Rate limit reached. Please try again in 11.054s."),
    (None, "429", "Provider returned error: rate limited upstream"),
    (None, "1002", "rate limit"),
    (None, "1039", "TPM limit: tokens exceeded"),
    (429, None, "upstream: input tokens per minute limit: maximum context of requests reached, retry in 10 seconds"),
    (429, "usage_limit_reached", "The usage limit has been reached"),
    (429, None, "you have reached your session usage limit, try again later"),
    (429, "too_many_requests", "slow down"),
    (429, None, "ITPM exceeded: prompt tokens exceed limit, wait 3 seconds"),
    (429, None, "Rate limit: token limit exceeded, 1000 tokens per second"),
    (429, None, "This model is throttled: maximum tokens per minute"),
    (429, None, "Concurrency limit exceeded for this model"),
    (429, None, ""),
    (429, "tokens", "Limit 10000, Requested 12000. Visit the rate limits page."),
    (400, "rate_limit_exceeded", "Rate limit reached for requests per min (RPM)"),
)
"""Status, code, message."""
