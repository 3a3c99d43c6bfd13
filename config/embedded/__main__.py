"""python -m config.embedded up [--port N] | run [--test] -- COMMAND..."""

import argparse
import os
import sys
from pathlib import Path

from config.embedded.commands import evenhand, run, up

PROJECT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Read the arguments and do it."""
    parser = argparse.ArgumentParser(prog="python -m config.embedded", description="Evenhand on this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    up_parser = commands.add_parser("up", help="start everything and stay")
    up_parser.add_argument(
        "--port",
        default=os.environ.get("PORT") or None,
        help="the port; the next free one if unset",
    )
    up_parser.add_argument(
        "--with-parent",
        action="store_true",
        help="stop when the calling process dies (Linux)",
    )
    run_parser = commands.add_parser("run", help="run a command with the servers at hand")
    run_parser.add_argument("--test", action="store_true", help="fresh servers that vanish afterwards")
    run_parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    arguments = parser.parse_args()
    var = Path(os.environ.get("EVENHAND_VAR") or PROJECT / "var").absolute()
    if arguments.command == "up":
        return up(
            PROJECT,
            var,
            evenhand(),
            port=arguments.port,
            with_parent=arguments.with_parent,
        )
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    if not words:
        run_parser.error("name the command to run, after --")
    return run(PROJECT, var, words, test=arguments.test)


if __name__ == "__main__":
    sys.exit(main())
