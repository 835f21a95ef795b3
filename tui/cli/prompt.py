"""The session at a prompt, with completion and line history."""

from __future__ import annotations

from ..session.session import Session, completions

PROMPT = "(tagloom) "


def run_prompt(session: Session) -> int:
    """Read and execute lines until the user leaves; return the exit code."""
    _install_completion(session)
    while not session.is_finished:
        try:
            line = input(PROMPT)
        except KeyboardInterrupt:
            print()
            continue
        except EOFError:
            print()
            return 0
        if line.strip():
            print("\n".join(session.execute(line).text))
    return 0


def _install_completion(session: Session) -> None:
    """Make Tab complete words; without readline, Tab does nothing."""
    try:
        import readline
    except ImportError:
        return

    def complete(text: str, number: int) -> str | None:
        fitting = [word for word in completions(session, readline.get_line_buffer()) if word.startswith(text)]
        return fitting[number] if number < len(fitting) else None

    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
