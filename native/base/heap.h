// What the C library keeps of memory that was freed.
#pragma once

namespace graphzero::base {

// Makes large blocks go back to the system as soon as they are freed, for the whole process.
//
// By default glibc raises the size from which it does so with every large block that is freed, up
// to 32 MiB, and keeps what is smaller in the heap of the thread that asked for it: a daemon that
// counts 150 MiB of working memory then holds a gigabyte. For a process of our own only: in a
// trainer it would be somebody else's decision.
void ReturnFreedMemory();

}  // namespace graphzero::base
