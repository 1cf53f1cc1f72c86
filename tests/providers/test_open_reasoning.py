"""Responses servers that encrypt nothing: the thinking before a call goes back in the clear where it is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.providers.more_strangers import OpenReasoner, OpenResponder, SummaryReasoner
from tests.providers.strangers import Stranger, serving
from tests.providers.test_strangers import configured, converse, words_of

PROMPTS = ("Look into the folder.", "Thank you.")
PROVIDERS: dict[str, tuple[type[Stranger], str]] = {
    "deepseek": (OpenReasoner, "deepseek/deepseek-v4-pro"),
    "llama.cpp": (OpenReasoner, "llama.cpp/gpt-oss"),
    "vllm": (OpenReasoner, "vllm/gpt-oss"),
    "a gateway": (OpenReasoner, "gateway/gpt-oss-120b"),
    "xai": (SummaryReasoner, "xai/grok-3-mini"),
}


def row(model: str, url: str) -> str:
    provider = model.partition("/")[0]
    server = f'[providers."{provider}"]\nwire = "openai-responses"\nbase_url = "{url}/v1"\nauth = "none"\n'
    return f'{server}[models."{model}"]\nwire = "openai-responses"\n'


@pytest.mark.parametrize("name", PROVIDERS)
def test_thinking_that_is_not_encrypted_is_sent_back_where_the_model_needs_it(name: str, tmp_path: Path) -> None:
    kind, model = PROVIDERS[name]
    with serving(kind) as (url, server):
        ends = converse(configured(tmp_path, row(model, url)), f"{model}/low", PROMPTS)
    assert server.refused == []
    assert [words_of(end.turn) for end in ends] == [("Fine, then.", 2, 1), ("Fine, then.", 1, 0)]
    thoughts = [item for item in server.seen[-1]["input"] if item.get("type") == "reasoning"]
    assert [item["id"] for item in thoughts] == ["rs_1", "rs_2"]


def test_a_summary_alone_is_not_sent_to_a_server_that_may_be_a_proxy_for_openai(tmp_path: Path) -> None:
    with serving(OpenResponder) as (url, server):
        converse(configured(tmp_path, row("gateway/gpt-5", url)), "gateway/gpt-5", PROMPTS)
    assert not [item for item in server.seen[-1]["input"] if item.get("type") == "reasoning"]
