"""The command line: `loop`, also `python -m loop`.

Exit codes: 0; 1 an expected error; 2 a wrong command line; 3 an unexpected error, whose traceback
goes to a file; 130 after Ctrl-C. A reader of our output that went away is no error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from loop.cli.commands import read
from loop.cli.parser import UsageError
from loop.cli.printing import bear_any_text, complain, drop_output, write
from loop.errors import LoopError


def main(argv: Sequence[str] | None = None) -> int:
    """Does what the command line asks for; its exit code. `argv` is without the program's name."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        bear_any_text()
        code = _done(words)
        write("")  # what was printed without us has to arrive, too
        return code
    except KeyboardInterrupt:
        return 130
    except UsageError as error:
        complain(str(error))
        return 2
    except LoopError as error:
        complain(str(error))
        return 1
    except BrokenPipeError:
        drop_output()
        return 0
    except OSError as error:
        return _system_error(error)
    except Exception as error:  # the one catch-all: whatever it is, no person sees a traceback
        return _unexpected(error)


def _done(words: Sequence[str]) -> int:
    try:
        action = read(words)
    except SystemExit as end:  # argparse has printed the help that was asked for
        return end.code if isinstance(end.code, int) else 0
    return action()


def _system_error(error: OSError) -> int:
    if error.filename is not None:
        complain(f"{error.filename}: {error.strerror or error}")
        return 1
    return _unexpected(error)


def _unexpected(error: Exception) -> int:
    from loop.store.crash import write_crash

    what = f"{type(error).__name__}: {str(error)[:200]}"
    complain(f"unexpected error, {what}; its record is {write_crash(error)}")
    return 3


if __name__ == "__main__":
    sys.exit(main())
