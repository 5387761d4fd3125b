#include "store/container_format.h"

namespace graphzero::store {

Fingerprint FingerprintOf(const FileHeader& header, std::span<const SectionEntry> table) {
  return FingerprintOf({std::as_bytes(std::span(&header.required_flags, 1)),
                        std::as_bytes(std::span(&header.optional_flags, 1)),
                        std::as_bytes(std::span(header.properties)), std::as_bytes(table)});
}

}  // namespace graphzero::store
