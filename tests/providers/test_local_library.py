"""Models are found where ponder and other programs keep them, in the layouts that those programs write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.providers.gguf_files import chat_model, write_gguf
from tests.unprivileged import bits_are_obeyed, obey_permission_bits
from tui.domain.errors import UnknownModel
from tui.providers.local.library import LocalModel, ModelLibrary, Source, library_of
from tui.settings.paths import Paths

DIGEST = "a" * 64


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def library(home: Path, **environment: str) -> ModelLibrary:
    around = {"HOME": str(home), "OLLAMA_MODELS": str(home / ".ollama/models"), **environment}
    return library_of(around, paths(home))


def paths(home: Path) -> Paths:
    return Paths(config=home / "config", data=home / "data", state=home / "state", cache=home / "cache")


def found(home: Path, **environment: str) -> list[tuple[str, str]]:
    """Name and source of each model."""
    return [(model.name, model.source.value) for model in library(home, **environment).models()]


def ollama_model(root: Path, manifest: str, digest: str = DIGEST, **more: str) -> Path:
    """Write a manifest and its model as Ollama does; ``more`` are further layers."""
    layers = {"model": digest, **more}
    file = root / "manifests" / manifest
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        json.dumps(
            {
                "schemaVersion": 2,
                "layers": [
                    {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": f"sha256:{digest}", "size": 1}
                    for kind, digest in layers.items()
                ],
            }
        )
    )
    return write_gguf(root / "blobs" / f"sha256-{digest}")


def hugging_face_model(hub: Path, repository: str, file: str, commit: str = "1" * 40) -> Path:
    """Write a file as the cache of Hugging Face does: a blob, and a link to it from a snapshot."""
    root = hub / f"models--{repository.replace('/', '--')}"
    blob = write_gguf(root / "blobs" / f"{commit[:8]}{len(file)}")
    link = root / "snapshots" / commit / file
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(blob)
    (root / "refs").mkdir(exist_ok=True)
    (root / "refs/main").write_text(commit)
    return link


def test_models_of_all_programs_are_found_without_those_programs(home: Path) -> None:
    own = write_gguf(home / "data/models/Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf")
    ollama = ollama_model(home / ".ollama/models", "registry.ollama.ai/library/qwen3/latest")
    studio = write_gguf(home / ".lmstudio/models/lmstudio-community/Phi/Phi-4-mini-Q4_K_M.gguf")
    older = write_gguf(home / ".cache/lm-studio/models/x/y/Old-Q4_0.gguf")
    hub = hugging_face_model(home / ".cache/huggingface/hub", "unsloth/Gemma-GGUF", "gemma-Q4_0.gguf")
    cpp = write_gguf(home / ".cache/llama.cpp/ggml-org_Smol-GGUF_Smol-Q4_0.gguf")
    assert {model.name: (model.path, model.source) for model in library(home).models()} == {
        "Qwen3-0.6B-Q8_0": (own, Source.PONDER),
        "qwen3": (ollama, Source.OLLAMA),
        "Phi-4-mini-Q4_K_M": (studio, Source.LMSTUDIO),
        "Old-Q4_0": (older, Source.LMSTUDIO),
        "gemma-Q4_0": (hub, Source.HUGGING_FACE),
        "ggml-org_Smol-GGUF_Smol-Q4_0": (cpp, Source.LLAMA_CPP),
    }
    (model,) = [model for model in library(home).models() if model.name == "qwen3"]
    assert model.facts is not None
    assert (model.facts.window, model.facts.thinks, model.size) == (40_960, True, ollama.stat().st_size)


def test_the_variables_of_the_programs_say_where_their_folders_are(home: Path, tmp_path: Path) -> None:
    hugging_face_model(tmp_path / "hf/hub", "a/b", "one.gguf")
    hugging_face_model(tmp_path / "hub", "a/b", "two.gguf")
    ollama_model(tmp_path / "ollama", "registry.ollama.ai/library/three/1b")
    hugging_face_model(tmp_path / "llama", "ggml-org/four", "four.gguf")
    write_gguf(tmp_path / "studio/a/b/five.gguf")
    (home / ".lmstudio").mkdir()
    (home / ".lmstudio/settings.json").write_text(json.dumps({"downloadsFolder": str(tmp_path / "studio")}))
    assert found(home, HF_HOME=str(tmp_path / "hf")) == [("five", "lmstudio"), ("one", "huggingface")]
    assert found(home, HF_HUB_CACHE=str(tmp_path / "hub"), HF_HOME=str(tmp_path / "hf"))[1:] == [("two", "huggingface")]
    environment = {"OLLAMA_MODELS": str(tmp_path / "ollama"), "LLAMA_CACHE": str(tmp_path / "llama")}
    assert found(home, **environment) == [("three:1b", "ollama"), ("five", "lmstudio"), ("four", "llama.cpp")]


def test_names_of_ollama(home: Path) -> None:
    root = home / ".ollama/models"
    for number, manifest in enumerate(("hf.co/unsloth/X-GGUF/Q4_K_M", "registry.ollama.ai/me/mine/latest")):
        ollama_model(root, manifest, f"{number:064x}")
    assert [name for name, _ in found(home)] == ["hf.co/unsloth/X-GGUF:Q4_K_M", "me/mine"]


def test_a_manifest_cannot_name_files_elsewhere(home: Path) -> None:
    root = home / ".ollama/models"
    for digest in ("../../../secret", "sha256:" + "../" * 20 + "x", "A" * 64, ""):
        ollama_model(root, "registry.ollama.ai/library/x/latest", digest="b" * 64)
        manifest = root / "manifests/registry.ollama.ai/library/x/latest"
        layer = {"mediaType": "application/vnd.ollama.image.model", "digest": digest}
        manifest.write_text(json.dumps({"layers": [layer]}))
        assert found(home) == []
    for damaged in ("", "[]", "null", '{"layers": 3}', '{"layers": [3, {"mediaType": 1}]}', "[" * 100_000):
        manifest.write_text(damaged)
        assert found(home) == []


def test_only_the_current_snapshot_of_a_repository_counts(home: Path) -> None:
    hub = home / ".cache/huggingface/hub"
    hugging_face_model(hub, "a/b", "old.gguf", "1" * 40)
    hugging_face_model(hub, "a/b", "new.gguf", "2" * 40)
    assert found(home) == [("new", "huggingface")]
    (hub / "models--a--b/snapshots" / ("2" * 40) / "new.gguf").resolve().unlink()  # `hf cache rm`
    assert found(home) == []


def test_a_model_in_several_files_is_one(home: Path) -> None:
    folder = home / "data/models/a/b"
    write_gguf(folder / "Big-Q4_0-00001-of-00003.gguf", chat_model(more={"split.count": 3, "split.no": 0}))
    for number in (2, 3):
        write_gguf(folder / f"Big-Q4_0-{number:05}-of-00003.gguf", {"split.no": number - 1, "split.count": 3})
    (model,) = library(home).models()
    assert (model.name, model.path.name, model.problem) == ("Big-Q4_0", "Big-Q4_0-00001-of-00003.gguf", "")
    assert model.size == sum(path.stat().st_size for path in folder.iterdir())
    assert model.facts is not None
    assert model.facts.parameters == 3 * 32
    (folder / "Big-Q4_0-00003-of-00003.gguf").unlink()
    (model,) = library(home).models()
    assert model.problem == "1 of its 3 files is missing."


def projector_of(home: Path, model: str) -> str | None:
    found = library(home).find(model).mmproj
    return found.name if found else None


def test_the_part_that_sees_is_paired_with_its_model(home: Path) -> None:
    clip = {"general.architecture": "clip"}
    studio = home / ".lmstudio/models"
    write_gguf(studio / "a/Gemma/gemma-3-4b-it-Q4_K_M.gguf")
    write_gguf(studio / "a/Gemma/mmproj-model-f16.gguf", clip)
    write_gguf(studio / "a/Gemma/mmproj-model-BF16.gguf", clip)
    write_gguf(studio / "a/Plain/plain-Q4_0.gguf")
    flat = home / ".cache/llama.cpp"
    write_gguf(flat / "Qwen2.5-VL-3B-Q4_K_M.gguf")
    write_gguf(flat / "mmproj-Qwen2.5-VL-3B-f16.gguf", clip)
    write_gguf(flat / "ggml-org_gemma-GGUF_gemma-Q4_K_M.gguf")
    write_gguf(flat / "ggml-org_gemma-GGUF_mmproj-model-f16.gguf", clip)
    write_gguf(flat / "Blind-Q4_K_M.gguf")
    hub = home / ".cache/huggingface/hub"
    hugging_face_model(hub, "u/Vis-GGUF", "Q8_0/Vis-Q8_0-00001-of-00001.gguf")
    hugging_face_model(hub, "u/Vis-GGUF", "mmproj-F16.gguf")
    ollama_model(home / ".ollama/models", "registry.ollama.ai/library/llava/7b", projector="c" * 64)
    assert {model.name: model.mmproj and model.mmproj.name for model in library(home).models()} == {
        "llava:7b": "sha256-" + "c" * 64,
        "gemma-3-4b-it-Q4_K_M": "mmproj-model-f16.gguf",
        "plain-Q4_0": None,
        "Vis-Q8_0": "mmproj-F16.gguf",
        "Blind-Q4_K_M": None,
        "ggml-org_gemma-GGUF_gemma-Q4_K_M": "ggml-org_gemma-GGUF_mmproj-model-f16.gguf",
        "Qwen2.5-VL-3B-Q4_K_M": "mmproj-Qwen2.5-VL-3B-f16.gguf",
    }


def test_one_file_is_one_model_and_one_name_is_one_model(home: Path) -> None:
    own = write_gguf(home / "data/models/a/b/Same.gguf")
    linked = home / ".lmstudio/models/x/y/Other-name.gguf"
    linked.parent.mkdir(parents=True)
    linked.hardlink_to(own)
    write_gguf(home / ".lmstudio/models/x/z/Same.gguf")
    write_gguf(home / ".lmstudio/models/x/zz/Same.gguf")
    assert [name for name, _ in found(home)] == ["Same", "Same@lmstudio", "Same@lmstudio-2"]


def test_what_is_not_for_talking_is_not_listed(home: Path) -> None:
    folder = home / "data/models/a/b"
    write_gguf(folder / "embed.gguf", {"general.architecture": "bert", "bert.pooling_type": 1})
    write_gguf(folder / "lora.gguf", {"general.architecture": "llama", "general.type": "adapter"})
    write_gguf(folder / "eye.gguf", {"general.architecture": "clip"})
    (folder / "half.gguf.part").write_bytes(b"GGUF")
    (folder / "folder.gguf").mkdir()
    os.mkfifo(folder / "pipe.gguf")
    assert found(home) == []
    assert library(home).at(folder / "embed.gguf").problem == "It computes embeddings and does not answer."
    assert library(home).at(folder / "eye.gguf").problem == "It is not a model but a part of one."
    assert library(home).at(folder / "pipe.gguf").problem == "It is not a file."


def test_a_damaged_file_is_listed_with_the_reason(home: Path) -> None:
    path = write_gguf(home / "data/models/a/b/Half.gguf")
    path.write_bytes(path.read_bytes()[:-10])
    (model,) = library(home).models()
    assert (model.facts, model.problem) == (None, "The file is cut off: it ends before its contents do.")
    (path.parent / "Gone.gguf").symlink_to(home / "elsewhere.gguf")
    assert library(home).find("gone").problem == f"Its file is gone: {home / 'elsewhere.gguf'}."


def test_links_in_a_circle_are_walked_once(home: Path) -> None:
    folder = home / "data/models/a/b"
    write_gguf(folder / "One.gguf")
    (folder / "up").symlink_to(home / "data/models")
    (folder / "self").symlink_to(folder)
    (folder / "nowhere").symlink_to(home / "nothing")
    (folder / "loop").symlink_to(folder / "loop")
    elsewhere = write_gguf(home / "disk/Two.gguf").parent
    (home / "data/models/disk").symlink_to(elsewhere)
    assert found(home) == [("One", "ponder"), ("Two", "ponder")]


@pytest.mark.skipif(sys.platform != "linux", reason="drops a capability of Linux")
def test_folders_that_may_not_be_read_cost_only_their_models(home: Path, tmp_path: Path) -> None:
    if not bits_are_obeyed(tmp_path):
        pytest.skip("permission bits do not matter here")
    write_gguf(home / "data/models/a/b/One.gguf")
    closed = write_gguf(home / "data/models/closed/Two.gguf").parent
    write_gguf(home / "data/models/a/b/Locked.gguf").chmod(0)
    (home / ".ollama/models").mkdir(parents=True)
    for folder in (closed, home / ".ollama/models"):
        folder.chmod(0)
    script = (
        "import sys; from pathlib import Path; from tests.providers.test_local_library import library\n"
        "print([(m.name, m.problem) for m in library(Path(sys.argv[1])).models()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)],
        preexec_fn=obey_permission_bits,
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
        check=False,
    )
    for folder in (closed, home / ".ollama/models"):
        folder.chmod(0o755)
    assert done.stdout.strip() == str([("Locked", "It cannot be read: Permission denied."), ("One", "")]), done.stderr


def test_facts_are_read_once_and_again_when_the_file_changes(home: Path) -> None:
    path = write_gguf(home / "data/models/a/b/One.gguf", chat_model("First"))
    assert name_of(library(home).models()[0]) == "First"
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"First", b"Other"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert name_of(library(home).models()[0]) == "First"
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert name_of(library(home).models()[0]) == "Other"


def name_of(model: LocalModel) -> str:
    assert model.facts is not None
    return model.facts.name


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": 1, "files": {"x": 3}}', b"\xff", b"[" * 100_000])
def test_a_damaged_cache_is_as_good_as_none(home: Path, content: bytes) -> None:
    path = write_gguf(home / "data/models/a/b/One.gguf")
    (home / "cache").mkdir()
    cache = home / "cache/local-models.json"
    cache.write_bytes(content)
    assert name_of(library(home).models()[0]) == "Tiny"
    rows = json.loads(cache.read_text())
    rows["files"][str(path)]["facts"]["window"] = "wide"
    cache.write_text(json.dumps(rows))
    (model,) = library(home).models()
    assert model.facts is not None
    assert model.facts.window == 40_960


@pytest.mark.long
def test_thousands_of_files_take_no_longer_than_allowed(home: Path) -> None:
    first = write_gguf(home / "data/models/a/b/model-0000.gguf")
    content = first.read_bytes()
    for number in range(1, 2_000):
        (first.parent / f"model-{number:04}.gguf").write_bytes(content)
    begun = time.thread_time()
    models = library(home).models(within_s=0.05)
    assert time.thread_time() - begun < 2.0
    assert 0 <= sum(model.facts is not None for model in models) < len(models) <= 2_000
    assert all(model.facts is not None for model in library(home).models())


def test_a_model_is_found_by_name_and_by_path(home: Path, tmp_path: Path) -> None:
    write_gguf(home / "data/models/a/b/Qwen3-4B-Q4_K_M.gguf")
    path = write_gguf(tmp_path / "My model.gguf")
    assert library(home).find("qwen3-4b-q4_k_m").name == "Qwen3-4B-Q4_K_M"
    assert (library(home).at(path).name, library(home).at(path).source) == ("My-model", Source.FILE)
    with pytest.raises(UnknownModel) as error:
        library(home).find("Qwen3-8B-Q4_K_M")
    assert (error.value.message, error.value.nearest) == (
        "There is no local model `Qwen3-8B-Q4_K_M`.",
        ("Qwen3-4B-Q4_K_M",),
    )
    with pytest.raises(FileNotFoundError):
        library(home).at(tmp_path / "none.gguf")


def test_names_that_are_not_text_are_shown_and_do_no_harm(home: Path) -> None:
    folder = home / "data/models/a/b"
    folder.mkdir(parents=True)
    content = write_gguf(home / "x.gguf").read_bytes()
    (folder / os.fsdecode(b"bad\xff\x1b[31m name.gguf")).write_bytes(content)
    ((name, _),) = found(home)
    assert name.isprintable()
    assert " " not in name
    assert found(home) == [(name, "ponder")]
