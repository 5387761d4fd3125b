#include "bindings/bindings.h"

NB_MODULE(_engine, m) {
  using namespace graphzero::bindings;
  m.doc() = "The C++ engine. Private: use the classes and functions of the graphzero package.";
  BindErrors(m);
  BindStore(m);
  BindVerify(m);
  BindGather(m);
  BindMatrixCompile(m);
  BindSample(m);
  BindShm(m);
  BindEdgeCompile(m);
  BindGenerate(m);
}
