"""Where graphs come from: readers of files, folders and objects of other libraries.

Every reader ends in one of two shapes that the compilers take: an EdgeStream or a RowStream
(streams.py). Both are read in chunks, so memory stays bounded whatever the size of the input.
"""
