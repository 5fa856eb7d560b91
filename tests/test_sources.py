"""Which files are read, in which order, and what is said of the others."""

from __future__ import annotations

import errno
import io
import os
import socket
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from webhook import sources
from webhook.errors import Unreadable
from webhook.result import NotRead, Skipped
from webhook.sources import BLOCK, Source, blocks, find, find_config, read_text, shown


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a: 1\n", encoding="utf-8")


def names(*paths: str) -> list[str]:
    found = list(find(paths))
    assert all(isinstance(item, Source) for item in found), found
    return [item.name for item in found if isinstance(item, Source)]


def only(*paths: str) -> Source | Skipped | NotRead:
    (item,) = find(paths)
    return item


def message(*paths: str) -> str:
    item = only(*paths)
    assert isinstance(item, NotRead)
    assert (item.line, item.column) == (0, 0)
    return item.message


def test_a_folder_is_read_in_the_order_of_names() -> None:
    write("b/z.yaml", "b/a/x.yml", "b/A.YAML", "a.json", "readme.md", "c.yaml.bak")
    assert names(".") == ["a.json", "b/A.YAML", "b/z.yaml", "b/a/x.yml"]


def test_hidden_files_and_folders_are_read_only_by_name() -> None:
    write(".git/x.yaml", ".ci.yaml", "node_modules/p/x.yaml", "a.yaml")
    assert names(".") == ["a.yaml"]
    assert names(".git", ".ci.yaml", "node_modules") == [".git/x.yaml", ".ci.yaml", "node_modules/p/x.yaml"]


def test_a_named_file_is_read_whatever_its_name() -> None:
    write("pod.txt")
    assert names("pod.txt", "./pod.txt", str(Path("pod.txt").resolve())) == ["pod.txt"]


def test_names_are_relative_to_the_working_directory(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("in/a.yaml", "out/b.yaml")
    monkeypatch.chdir("in")
    assert names(str(here / "in"), "../out") == ["a.yaml", "../out/b.yaml"]
    assert names(str(here / "out")) == [str(here / "out" / "b.yaml")]
    assert shown(str(here / "in")) == "."


def test_nothing_is_read_twice() -> None:
    write("d/a.yaml")
    os.symlink("d", "e")  # noqa: PTH211 - as short as in a shell
    os.symlink("d/a.yaml", "a.yaml")  # noqa: PTH211
    assert names(".", "d", "d/a.yaml", "e", "a.yaml") == ["d/a.yaml"]


def test_links_are_followed_and_have_the_last_word() -> None:
    write("outside/x/a.yaml", "outside/b.yaml", "outside/c.txt", "tree/z.yaml")
    Path("tree/a").symlink_to("../outside/x")
    Path("tree/b.yaml").symlink_to("../outside/b.yaml")
    Path("tree/c.txt").symlink_to("../outside/c.txt")
    assert names("tree") == ["tree/z.yaml", "tree/a/a.yaml", "tree/b.yaml"]


def test_a_loop_of_links_ends_and_is_told() -> None:
    write("tree/deep/a.yaml")
    Path("tree/deep/up").symlink_to("..")
    Path("tree/deep/here").symlink_to(".")
    Path("tree/top").symlink_to("/")
    found = list(find(["tree"]))
    assert [item.name for item in found if isinstance(item, Source)] == ["tree/deep/a.yaml"]
    skipped = {item.file: item.reason for item in found if isinstance(item, Skipped)}
    assert skipped == {
        "tree/deep/up": "a link to tree, a folder that it is in",
        "tree/deep/here": "a link to tree/deep, a folder that it is in",
        "tree/top": "a link to /, a folder that it is in",
    }


def test_a_link_to_itself() -> None:
    Path("a.yaml").symlink_to("a.yaml")
    assert "symbolic links" in message(".")
    assert "symbolic links" in message("a.yaml")


def test_a_dangling_link_is_named_where_its_name_says_that_it_matters() -> None:
    Path("a.yaml").symlink_to("gone.yaml")
    Path("b.txt").symlink_to("gone.txt")
    assert message(".") == "a link to gone.yaml, which does not exist; mend or remove the link"
    assert message("b.txt").startswith("a link to gone.txt")


def test_a_folder_with_a_name_like_a_file() -> None:
    write("x.yaml/y.yaml")
    assert names(".") == ["x.yaml/y.yaml"]


def test_a_path_that_does_not_exist() -> None:
    assert message("nowhere") == "no such file or folder; it is misspelt, or was removed meanwhile"
    assert message("a\0b") == "no file can have this name"


def test_pipes_sockets_and_devices_are_not_opened() -> None:
    os.mkfifo("a.yaml")
    os.mkfifo("ignored")
    Path("b.yaml").symlink_to("a.yaml")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("c.yaml")
        found = {item.file: item.message for item in find(["."]) if isinstance(item, NotRead)}
    assert found["a.yaml"].startswith("a named pipe, no regular file; it is not opened")
    assert found["b.yaml"].startswith("a named pipe")
    assert found["c.yaml"].startswith("a socket")
    assert len(found) == 3
    assert message("/dev/null").startswith("a device")


def test_an_open_file_of_a_shell_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a: 1")
    os.close(writer)
    item = only(f"/dev/fd/{reader}")
    assert isinstance(item, Source)
    assert b"".join(blocks(item)) == b"a: 1"
    os.close(reader)


def test_kustomizations_are_skipped_by_name() -> None:
    write("kustomization.yaml", "a/kustomization.yml", "b/Kustomization")
    found = list(find([".", "b/Kustomization"]))
    assert [item.file for item in found if isinstance(item, Skipped)] == [
        "kustomization.yaml",
        "a/kustomization.yml",
        "b/Kustomization",
    ]
    assert len(found) == 3


def test_what_is_excluded_is_left_out_and_told_only_where_it_was_named() -> None:
    write("a/x.yaml", "b/x.yaml", "c.yaml")
    found = list(find([".", "a", "c.yaml"], {"a", "c.yaml"}.__contains__))
    assert [item.name for item in found if isinstance(item, Source)] == ["b/x.yaml"]
    assert [item.file for item in found if isinstance(item, Skipped)] == ["a", "c.yaml"]


def test_stdin_has_the_name_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    (item,) = find(["-", "-"], stdin_name="pod.yaml")
    assert item == Source("pod.yaml", None)
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"a: 1"), closed=False))
    assert list(blocks(item)) == [b"a: 1"]
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(Unreadable, match="stdin is closed"):
        list(blocks(item))


def test_a_file_comes_in_blocks() -> None:
    Path("a.yaml").write_bytes(b"x" * (2 * BLOCK + 1))
    item = only("a.yaml")
    assert isinstance(item, Source)
    assert [len(block) for block in blocks(item)] == [BLOCK, BLOCK, 1]


def test_a_file_that_vanishes() -> None:
    write("a.yaml")
    item = only(".")
    assert isinstance(item, Source)
    Path("a.yaml").unlink()
    with pytest.raises(Unreadable, match="removed meanwhile"):
        list(blocks(item))


@pytest.mark.parametrize(
    ("number", "says"), [(errno.EACCES, "permission denied; make it readable"), (errno.EIO, "input/output error")]
)
def test_what_the_system_refuses(number: int, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("d/a.yaml", "d/e/b.yaml")

    def refuse(path: str) -> Iterator[os.DirEntry[str]]:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert message("d").startswith(says)


def test_an_entry_that_the_system_refuses_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.yaml", "b.yaml")
    real = sources._entry

    def refuse(entry: os.DirEntry[str], *rest: object) -> Iterator[object]:
        if entry.name == "a.yaml":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(entry, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "_entry", refuse)
    first, second = find(["."])
    assert isinstance(first, NotRead)
    assert second == Source("b.yaml", "./b.yaml")


def test_names_that_are_no_text() -> None:
    Path(os.fsdecode(b"\xff\n.yaml")).write_text("a: 1\n", encoding="utf-8")
    item = only(".")
    assert isinstance(item, Source)
    assert item.name == "\\udcff\\n.yaml"
    assert b"".join(blocks(item)) == b"a: 1\n"


def test_an_empty_folder_holds_nothing() -> None:
    assert list(find(["."])) == []


def test_the_configuration_is_looked_for_upwards(here: Path) -> None:
    write("a/b/c.yaml", "a/conf")
    assert find_config("a/b/c.yaml", "conf") == str(here / "a" / "conf")
    assert find_config("a/b", "conf") == str(here / "a" / "conf")
    assert find_config("a/b/gone.yaml", "conf") == str(here / "a" / "conf")
    assert find_config("a", "no-such-name") is None


def test_the_text_of_a_configuration() -> None:
    Path("a").write_bytes(b"\xef\xbb\xbfa: 1")
    assert read_text("a") == "a: 1"
    Path("a").write_bytes(b"\xff")
    with pytest.raises(Unreadable, match="a: no UTF-8 text"):
        read_text("a")
    with pytest.raises(Unreadable, match=r"b: no such file"):
        read_text("b")
