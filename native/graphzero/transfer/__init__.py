"""Copies of datasets: from daemons, directories and object stores, and to object stores."""
