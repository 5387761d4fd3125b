"""Makes a DGL graph of saved arrays and imports it; run by test_objects.py where DGL is."""

import sys

import dgl
import graphzero as gz
import numpy as np
import torch

saved = {name: torch.from_numpy(array) for name, array in np.load(sys.argv[1]).items()}
graph = dgl.graph((saved["src"], saved["dst"]), num_nodes=len(saved["y"]))
graph.ndata["feat"] = saved["x"]
graph.ndata["label"] = saved["y"]
graph.ndata["train_mask"] = torch.arange(len(saved["y"])) % 2 == 0
graph.edata["w"] = saved["weight"]
graph.edata["t"] = torch.arange(graph.num_edges())
gz.import_dgl(graph, sys.argv[2])

# A graph that was restricted to compressed columns is the same dataset.
gz.import_dgl(graph.formats("csc"), sys.argv[2] + "-csc")
ends = torch.tensor([0, 1, 2]), torch.tensor([1, 0, 1])
order = torch.tensor([2, 0, 1])
both = {
    ("user", "rates", "movie"): ends,
    ("movie", "rated-by", "user"): (ends[1][order], ends[0][order]),
}
for name, formats in (("-typed", ["coo"]), ("-typed-csc", ["csc"])):
    report = gz.import_dgl(dgl.heterograph(both).formats(formats), sys.argv[2] + name)
    assert report.relations["user", "rates", "movie"].inverse == ("movie", "rated-by", "user")
