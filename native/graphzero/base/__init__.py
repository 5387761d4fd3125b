"""What every other part of the package uses: errors, texts, numbers, memory, optional packages."""
