"""Names of columns: each becomes a file `NAME.gd` and a field of a batch."""

import re

from graphzero.base.errors import InputError
from graphzero.files.paths import ORIGINAL_IDS

# Fields that every batch has, or PyG's Data: a column must not hide one.
RESERVED = frozenset(
    {
        "adj_t",
        "batch",
        "batch_size",
        "e_id",
        "edge_attr",
        "edge_index",
        "edge_label",
        "edge_label_index",
        "edge_label_time",
        "edge_scale",
        "edge_weight",
        "input_id",
        "lengths",
        "n_id",
        "nodes",
        "num_edges",
        "num_nodes",
        "num_sampled_edges",
        "num_sampled_nodes",
        "ptr",
        "seed",
        "seed_time",
        "seeds",
        "source_index",
        "target_index",
        # Methods of a batch.
        "clone",
        "layers",
        "numpy",
        "pin_memory",
        "release",
        "to",
    }
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)


# Fields of PyG that are columns of edges anyway. A column edge_weight replaces the graph's own
# weights in a batch: it has them as they were before they became float32.
_EDGE_COLUMNS = frozenset({"edge_attr", "edge_weight"})


def is_reserved(name: str, role: str) -> bool:
    """Whether a column of that name would hide a field of a batch."""
    return name in RESERVED and not (role == "edge" and name in _EDGE_COLUMNS)


def check_column_name(name: str, role: str = "node") -> None:
    if name == ORIGINAL_IDS:
        raise InputError(
            f"column {name!r}: this name is for the ids that --relabel stores; choose another"
        )
    check_not_reserved(name, role)
    if _NAME.fullmatch(name) is None:
        raise InputError(
            f"column {name!r}: expected a letter, then up to 63 letters, digits and underscores"
        )


def check_not_reserved(name: str, role: str) -> None:
    if is_reserved(name, role):
        raise InputError(
            f"column {name!r}: this is a field of every batch; choose another name "
            f"(reserved: {', '.join(sorted(RESERVED))})"
        )


def is_column_name(name: str, role: str = "node") -> bool:
    try:
        check_column_name(name, role)
    except InputError:
        return False
    return True
