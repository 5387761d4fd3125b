#include "base/instructions.h"
#include "bindings/bindings.h"

NB_MODULE(_engine, m) {
  using namespace graphzero::bindings;
  m.doc() = "The C++ engine. Private: use the classes and functions of the graphzero package.";
  // Threads of a client may still hold objects when the interpreter ends. That is no leak, and
  // nanobind would print warnings about it to the user's terminal.
  nanobind::set_leak_warnings(false);
  graphzero::base::CheckInstructions();
  // A function and not a constant: stubs of the module must not depend on the processor.
  m.def(
      "instructions", [] { return graphzero::base::NameOf(graphzero::base::BestInstructions()); },
      "The vector instructions that loops use which have versions for several processors.");
  BindErrors(m);
  BindCall(m);
  BindStore(m);
  BindVerify(m);
  BindBlocks(m);
  BindIo(m);
  BindGather(m);
  BindMatrixCompile(m);
  BindSample(m);
  BindShm(m);
  BindEdgeCompile(m);
  BindOrder(m);
  BindIdCompile(m);
  BindTextTable(m);
  BindGenerate(m);
}
