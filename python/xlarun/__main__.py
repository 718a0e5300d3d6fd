"""python -m xlarun COMMAND: track and card are commands of this package, all others those of the program."""
import os
import sys

from .program import Error, program

try:
    if sys.argv[1:2] == ["track"]:
        from .track import main
        main(sys.argv[2:])
    elif sys.argv[1:2] == ["card"]:
        from .card import main
        main(sys.argv[2:])
    else:
        path = program()
        os.execv(path, [path, *sys.argv[1:]])
except Error as error:
    print(error if str(error).startswith("xlarun ") else f"xlarun: {error}", file=sys.stderr)  # the program names itself
    sys.exit(error.status)
