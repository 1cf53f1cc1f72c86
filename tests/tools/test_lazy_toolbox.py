"""The toolbox that is built on first use."""

from __future__ import annotations

import subprocess
import sys

from tests.fakes.bench import Bench, words
from tui.context.estimate import tool_tokens
from tui.domain.blocks import ToolCallBlock
from tui.tools.lazy_toolbox import DEFINITIONS, LazyToolbox, definitions
from tui.tools.toolbox import Toolbox


def test_the_packaged_definitions_are_those_of_the_tools() -> None:
    # After a change to a tool's words or arguments: python -m tui.tools.lazy_toolbox
    assert DEFINITIONS.read_text(encoding="utf-8") == definitions()


def test_before_the_first_call_it_offers_what_the_workbench_would(bench: Bench) -> None:
    assert LazyToolbox(lambda: bench.toolbox).schemas() == bench.toolbox.schemas()


async def test_it_is_put_together_once_by_the_first_call(bench: Bench) -> None:
    bench.write("a.txt", "hello")
    built: list[Toolbox] = []

    def build() -> Toolbox:
        built.append(bench.toolbox)
        return bench.toolbox

    late = LazyToolbox(build)
    await late.ready()
    late.schemas()
    await late.close()
    assert built == []
    call = ToolCallBlock(call_id="c1", name="read_file", arguments='{"path": "a.txt"}')
    assert [words(await late.run(call, bench.user.run())) for _ in range(2)] == ["1\thello"] * 2
    assert built == [bench.toolbox]


def test_a_tool_switched_off_is_not_offered(bench: Bench) -> None:
    late = LazyToolbox(lambda: bench.toolbox)
    late.enable("shell", enabled=False)
    assert [schema.name for schema in late.schemas()] == [
        row.name for row in late.rows(tool_tokens) if row.name != "shell"
    ]


def test_offering_loads_neither_pydantic_nor_any_tool() -> None:
    probe = (
        "import sys; from tui.tools.lazy_toolbox import built_in_schemas; built_in_schemas()\n"
        "print(*sorted(name for name in sys.modules if name == 'pydantic' or name.startswith('tui.tools.')))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tui.tools.lazy_toolbox", "tui.tools.missing_here"]
