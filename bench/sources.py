"""Fetches Debian source packages with apt, and unpacks them in ``build/corpus``.

The package lists come from the machine's own apt sources, as ``deb-src`` lines in a private
configuration; the user's sources and the state of apt are not changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

FOLDER = Path("build") / "corpus"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class FetchError(Exception):
    """A source package could not be fetched; the message says what to do."""


def fetch(name: str) -> tuple[Path, str]:
    """The folder of an unpacked source package (upstream's files) and its Debian version."""
    tree, stamp = FOLDER / name, FOLDER / f"{name}.version"
    if not stamp.exists():
        shutil.rmtree(tree, ignore_errors=True)
        downloads = FOLDER / "downloads" / name
        downloads.mkdir(parents=True, exist_ok=True)
        _apt_get(downloads, "source", "--download-only", "--quiet", name)
        (description,) = downloads.glob("*.dsc")
        (archive,) = downloads.glob("*.orig.tar.*[!c]")
        tree.mkdir(parents=True)
        _run(["tar", "-xf", str(archive), "-C", str(tree), "--strip-components=1"])
        version = description.stem.partition("_")[2]
        stamp.write_text(version + "\n", encoding="utf-8")
    return tree, stamp.read_text(encoding="utf-8").strip()


def _apt_get(folder: Path, *arguments: str) -> None:
    """Run apt-get in ``folder`` with the private configuration, creating it if missing."""
    private = (FOLDER / "apt").absolute()
    sources = private / "sources.list"
    options = {
        "Dir::Etc::SourceList": str(sources),
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": str(private / "state"),
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": str(private / "cache"),
        "Debug::NoLocking": "1",
    }
    if os.geteuid() == 0:
        options["APT::Sandbox::User"] = "root"
    command = ["apt-get", *(f"-o{name}={value}" for name, value in options.items())]
    if not sources.exists():
        for part in ("state/lists/partial", "cache/archives/partial"):
            (private / part).mkdir(parents=True, exist_ok=True)
        lines = _source_lines()
        sources.write_text(lines, encoding="utf-8")
        try:
            _run([*command, "update", "--quiet"])
        except FetchError:
            sources.unlink()
            raise
    _run([*command, *arguments], folder)


def _source_lines() -> str:
    """``deb-src`` lines for the archives of this release that the machine gets packages from."""
    release = _release()
    targets = _run(
        [
            "apt-get",
            "indextargets",
            "--format",
            "$(REPO_URI) $(CODENAME) $(COMPONENT)",
            "Created-By: Packages",
        ]
    )
    signed = f"[signed-by={_KEYRING}] " if _KEYRING.exists() else ""
    found = {
        f"deb-src {signed}{target}\n"
        for target in targets.splitlines()
        if target.split()[1].startswith(release) and target.split()[2] == "main"
    }
    if not found:
        raise FetchError(f"apt knows no archive of {release}: run apt-get update first")
    return "".join(sorted(found))


def _release() -> str:
    for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        if name == "VERSION_CODENAME":
            return value.strip('"')
    raise FetchError("this is not a Debian release: /etc/os-release has no VERSION_CODENAME")


def _run(command: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise FetchError(f"{command[0]} is not installed") from None
    if done.returncode != 0:
        raise FetchError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
