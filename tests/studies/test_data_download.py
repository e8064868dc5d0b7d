"""Downloads from a server on this machine, which can break off, change its file or refuse."""

from __future__ import annotations

import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from headcount.errors import HeadcountError
from headcount_studies import datasets
from headcount_studies.data.folder import CATALOGUE, CHECKSUMS, PublishedSource, download

CONTENT = np.random.default_rng(0).bytes(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """Behaviour of the server, and the requests that it received."""

    def __init__(self):
        self.content = CONTENT
        self.tag = '"v1"'
        self.stop_after = None  # bytes of a reply after which the connection ends
        self.ranges = True
        self.status = None
        self.requests = []
        self.address = ""


@pytest.fixture
def server():
    behaviour = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            wanted = self.headers.get("Range")
            behaviour.requests.append(wanted)
            if behaviour.status is not None:
                self.send_error(behaviour.status)
                return
            start = 0
            same = self.headers.get("If-Range") == behaviour.tag
            if wanted and behaviour.ranges and same:
                start = int(re.match(r"bytes=(\d+)-", wanted)[1])
                if start >= len(behaviour.content):
                    self.send_error(416)
                    return
            body = behaviour.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            if behaviour.tag is not None:
                self.send_header("ETag", behaviour.tag)
            self.end_headers()
            self.wfile.write(body[: behaviour.stop_after])

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        behaviour.address = f"http://127.0.0.1:{running.server_address[1]}/data.bin"
        Thread(target=running.serve_forever, daemon=True).start()
        yield behaviour
        running.shutdown()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "set" / "data.bin"


def names(path):
    return sorted(each.name for each in path.parent.iterdir())


def test_a_file_is_complete_and_its_checksum_recorded(server, path):
    assert download(server.address, path) == path
    assert path.read_bytes() == CONTENT
    assert names(path) == [CHECKSUMS, "data.bin"]
    assert json.loads((path.parent / CHECKSUMS).read_text()) == {"data.bin": SHA256}


def test_a_file_that_is_there_is_not_downloaded_again(server, path):
    download(server.address, path)
    download(server.address, path)
    download(server.address, path, sha256=SHA256)
    assert len(server.requests) == 1


def interrupt(server, path, after=1_000_000):
    server.stop_after = after
    with pytest.raises(
        HeadcountError, match=r"interrupted after 1,000,000 .*bytes.*call again"
    ):
        download(server.address, path)
    server.stop_after = None


def test_an_interrupted_download_leaves_no_file_and_is_continued(server, path):
    interrupt(server, path)
    assert not path.exists()
    assert names(path) == ["data.bin.part", "data.bin.part.version"]
    download(server.address, path, sha256=SHA256)
    assert server.requests == [None, "bytes=1000000-"]
    assert path.read_bytes() == CONTENT
    assert names(path) == [CHECKSUMS, "data.bin"]


def test_it_may_be_interrupted_several_times(server, path):
    interrupt(server, path)
    server.stop_after = 500_000
    with pytest.raises(HeadcountError, match=r"interrupted after 1,500,000 .*bytes"):
        download(server.address, path)
    server.stop_after = None
    download(server.address, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT


def test_another_file_is_not_appended_to_the_old_part(server, path):
    interrupt(server, path)
    server.content, server.tag = b"new " + CONTENT, '"v2"'
    download(server.address, path)
    assert path.read_bytes() == b"new " + CONTENT


@pytest.mark.parametrize("attribute", [{"ranges": False}, {"tag": None}])
def test_a_server_that_cannot_continue_starts_again(server, path, attribute):
    vars(server).update(attribute)
    interrupt(server, path)
    download(server.address, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server, path):
    with pytest.raises(HeadcountError, match=rf"SHA-256 {SHA256[:12]}\.\.\., but 000000000000"):
        download(server.address, path, sha256="0" * 64)
    assert names(path) == []


def test_the_first_download_is_compared_with_later_ones(server, path):
    download(server.address, path)
    path.unlink()
    server.content, server.tag = CONTENT[:-1] + b"x", '"v2"'
    with pytest.raises(HeadcountError, match="damaged or replaced, and is not kept"):
        download(server.address, path)
    assert not path.exists()
    server.content = CONTENT
    assert download(server.address, path).read_bytes() == CONTENT


def test_a_file_that_was_changed_is_refused(server, path):
    download(server.address, path)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(HeadcountError, match="has changed since it was downloaded"):
        download(server.address, path)


def test_a_damaged_list_of_checksums(server, path):
    path.parent.mkdir()
    (path.parent / CHECKSUMS).write_text("[")
    with pytest.raises(HeadcountError, match=r"checksums.json' is damaged"):
        download(server.address, path)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_refusals_are_one_sentence(server, path, status):
    server.status = status
    with pytest.raises(HeadcountError, match=rf"cannot be downloaded: {status} .*\.$"):
        download(server.address, path)
    assert names(path) == []


def test_a_part_that_is_longer_than_the_file(server, path):
    interrupt(server, path)
    server.content = CONTENT[:1_000_000]
    with pytest.raises(HeadcountError, match="shorter than the part of it: call again"):
        download(server.address, path)
    assert download(server.address, path).read_bytes() == CONTENT[:1_000_000]


def test_no_server(path):
    with pytest.raises(HeadcountError, match=r"cannot be reached \(.*call again"):
        download("http://127.0.0.1:9/data.bin", path)
    with pytest.raises(HeadcountError, match=r"^url is 'file:///etc/hosts'; it must be"):
        download("file:///etc/hosts", path)


# By name


@pytest.fixture
def catalogued(server, monkeypatch):
    base = server.address.rpartition("/")[0]
    urls = (f"{base}/a.zip", f"{base}/b.txt")
    sources = {
        "mine": PublishedSource("a test", "https://page", "CC0", True, urls),
        "closed": PublishedSource("a test", "https://page", "for research", False, urls),
        "known": PublishedSource(
            "a test", "https://page", "CC0", True, urls, (("a.zip", "0" * 64),)
        ),
    }
    monkeypatch.setattr(datasets, "CATALOGUE", sources)
    return sources


def test_fetch(catalogued, tmp_path, monkeypatch):
    folder = datasets.fetch("mine", tmp_path)
    assert folder == tmp_path / "mine"
    assert sorted(each.name for each in folder.iterdir()) == ["a.zip", "b.txt", CHECKSUMS]
    monkeypatch.setenv("HEADCOUNT_DATA", str(tmp_path))
    assert datasets.fetch("mine") == folder
    with pytest.raises(HeadcountError, match=r"000000000000\.\.\. was expected"):
        datasets.fetch("known", tmp_path)


def test_terms_must_be_accepted(catalogued, server, tmp_path):
    message = r"^'closed' has no open licence \(for research\): read https://page, then pass"
    with pytest.raises(HeadcountError, match=message):
        datasets.fetch("closed", tmp_path)
    assert not server.requests
    assert datasets.fetch("closed", tmp_path, accept_terms=True).is_dir()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mien", r"^name is 'mien', which is not a dataset: did you mean 'mine'\?"),
        (3, r"^name is 3, which is not a dataset"),
    ],
)
def test_unknown_names(catalogued, tmp_path, name, message):
    with pytest.raises(HeadcountError, match=message):
        datasets.fetch(name, tmp_path)


def test_no_folder(catalogued, tmp_path, monkeypatch):
    monkeypatch.delenv("HEADCOUNT_DATA", raising=False)
    with pytest.raises(HeadcountError, match="there is no folder of datasets"):
        datasets.fetch("mine")
    with pytest.raises(HeadcountError, match="does not exist"):
        datasets.fetch("mine", tmp_path / "none")


def test_the_catalogue_is_complete_and_invents_no_checksums():
    frame = datasets.catalogue()
    assert frame["name"].to_list() == list(CATALOGUE)
    assert {"lequa2022-T1A", "lequa2024-T4", "uci-spam", "reviews-imdb", "tweets"} <= set(
        frame["name"]
    )
    assert frame.null_count().sum_horizontal().item() == 0
    for source in CATALOGUE.values():
        assert source.urls
        assert all(url.startswith("https://") for url in (*source.urls, source.page))
        assert source.sha256 == ()
        assert source.open == source.terms.startswith("CC")


def test_files_of_lequa_have_the_names_that_its_reader_looks_for():
    source = CATALOGUE["lequa2024-T1"]
    files = [url.rpartition("/")[2] for url in source.urls]
    assert files == ["T1.train_dev.zip", "T1.test.zip", "T1.test_prevalences.zip"]
