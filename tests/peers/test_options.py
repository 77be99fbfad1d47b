"""Where commands find a mesh that nobody has named, and to whom they show their tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner, Result

from mesh.errors import ConfigError
from peers.options import (
    DATA,
    GATEWAY,
    LAB_PEER,
    TOKEN_IN_CLEAR,
    DataOption,
    GatewayOption,
    TokenOption,
    administrator_of,
    client_with,
    data_here,
    reader_of,
    token_given,
)

AFAR, HERE, SAFE = "http://10.0.0.5:8017", "http://127.0.0.1:8017", "https://gateway.test"


def test_on_a_machine_of_a_lab_its_peer_is_meant_unless_there_is_another_or_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(elsewhere)
    assert data_here(DATA) == DATA
    (home / LAB_PEER).mkdir(parents=True)
    assert data_here(DATA) == DATA
    (home / LAB_PEER / "config.toml").touch()
    assert data_here(DATA) == home / LAB_PEER
    assert data_here(Path("mymesh")) == Path("mymesh")
    DATA.mkdir()
    assert data_here(DATA) == DATA


@pytest.mark.parametrize(
    ("listen", "gateway"),
    [
        ('listen = "0.0.0.0:9017"', "http://127.0.0.1:9017"),
        ('listen = "localhost:9017"', "http://localhost:9017"),
        ('listen = "[::]:9017"', "http://127.0.0.1:9017"),
        ('listen = "127.0.0.1:0"', GATEWAY),  # not known before it runs
        ("", GATEWAY),
    ],
)
def test_the_gateway_of_the_folder_is_asked_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listen: str, gateway: str
) -> None:
    app = typer.Typer()

    @app.command()
    def ask(gateway: GatewayOption = GATEWAY, data: DataOption = DATA) -> None:
        print(gateway)

    @app.command()
    def search(gateway: GatewayOption = GATEWAY) -> None:
        print(gateway)

    def told(*words: str, environment: dict[str, str] | None = None) -> str:
        return CliRunner().invoke(app, list(words), env=environment).output.strip()

    monkeypatch.chdir(tmp_path)
    for name in ("TIANMESH_DATA", "TIANMESH_GATEWAY"):
        monkeypatch.delenv(name, raising=False)
    for folder in ("mymesh", str(DATA)):
        (tmp_path / folder / "peer-1").mkdir(parents=True)
        text = listen if folder == "mymesh" else 'listen = "127.0.0.1:9018"'
        (tmp_path / folder / "peer-1" / "config.toml").write_text(f"[gateway]\n{text}\n")
    (tmp_path / "mymesh" / "bootstrap").mkdir()
    (tmp_path / "mymesh" / "bootstrap" / "config.toml").write_text("[member]\n")
    assert told("ask", "--data", "mymesh") == gateway
    result = CliRunner().invoke(app, ["ask", "--data", "nowhere"])  # at a gateway of another mesh, maybe
    assert isinstance(result.exception, ConfigError)
    assert [told("ask"), told("search")] == ["http://127.0.0.1:9018"] * 2
    for command in ("ask", "search"):
        assert told(command, environment={"TIANMESH_DATA": "mymesh"}) == gateway
        assert told(command, "--gateway", SAFE, environment={"TIANMESH_DATA": "mymesh"}) == SAFE
    assert told("ask", "--data", "mymesh", environment={"TIANMESH_GATEWAY": SAFE}) == SAFE


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    """The folder of a peer with a token of its own."""
    (tmp_path / "admin.token").write_text("secret")
    (tmp_path / "admin.token").chmod(0o600)
    return tmp_path


@pytest.mark.parametrize("token", ["", "told"])
def test_no_order_shows_its_token_on_the_way(peer: Path, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=f"no token is sent to {AFAR}.*{TOKEN_IN_CLEAR}=1"):
        administrator_of(AFAR, token, peer)
    for gateway in (HERE, SAFE):
        administrator_of(gateway, token, peer).close()
    monkeypatch.setenv(TOKEN_IN_CLEAR, "1")
    administrator_of(AFAR, token, peer).close()


def _told(*words: str, environment: dict[str, str] | None = None, given: str = "") -> Result:
    """Run a command with a secret as an option, or as an argument, that prints what it was given."""
    app = typer.Typer()

    @app.command()
    def order(token: TokenOption = "") -> None:
        print(token)

    @app.command()
    def join(
        invitation: Annotated[str, typer.Argument(envvar="TIANMESH_INVITATION", callback=token_given)] = "",
    ) -> None:
        print(invitation)

    @app.command()
    def sign(secret: Annotated[str, typer.Option(envvar="TIANMESH_KEY", callback=token_given)] = "") -> None:
        print(secret)

    return CliRunner().invoke(app, words, env=environment, input=given)


@pytest.mark.parametrize(
    ("command", "option", "name", "variable"),
    [
        ("order", ["--token"], "token", "TIANMESH_ADMIN_TOKEN"),
        ("join", [], "invitation", "TIANMESH_INVITATION"),
        ("sign", ["--secret"], "secret", "TIANMESH_KEY"),
    ],
)
def test_a_token_comes_by_a_file_standard_input_or_the_environment_and_by_no_word_of_a_command(
    command: str, option: list[str], name: str, variable: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    assert _told(command, *option, f"@{file}").stdout == "secret\n"
    assert _told(command, *option, "-", given="secret\n").stdout == "secret\n"
    assert _told(command, environment={variable: "secret"}).stdout == "secret\n"
    refused = _told(command, *option, "secret")
    assert isinstance(refused.exception, ConfigError)
    ways = " ".join([*option, f"@FILE, or {' '.join([*option, '-'])} and"])
    assert str(refused.exception).endswith(f"give {ways} the {name} on standard input, or set {variable}")
    missing = _told(command, *option, f"@{tmp_path / 'nowhere'}")
    assert f"cannot read the {name} in" in str(missing.exception)


def test_who_has_no_token_shows_none(tmp_path: Path) -> None:
    administrator_of(AFAR, "", tmp_path).close()
    client_with(AFAR, "").close()
    reader_of(AFAR, "", tmp_path).close()


def test_who_looks_from_afar_sees_what_everybody_sees(peer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def sent(gateway: str) -> str:
        token = reader_of(gateway, "", peer)._token
        return token if isinstance(token, str) else token()

    assert [sent(gateway) for gateway in (HERE, SAFE, AFAR)] == ["secret", "secret", ""]
    assert f"asking {AFAR} as everybody does" in capsys.readouterr().err
    with pytest.raises(ConfigError):
        reader_of(AFAR, "told", peer)
