"""Bytes as `hexdump -C` shows them."""


def hexdump(data: bytes) -> str:
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if at and not any(row):
            if lines[-1] != "*":
                lines.append("*")
            continue
        hexes = " ".join(f"{b:02x}" for b in row[:8]) + "  " + " ".join(f"{b:02x}" for b in row[8:])
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        lines.append(f"{at:08x}  {hexes:<48}  |{text}|")
    return "\n".join([*lines, f"{len(data):08x}"])
