// One Bind function per room; module.cpp calls them. Bindings convert, release the GIL, call and
// convert back: no logic lives here.
#pragma once

#include <nanobind/nanobind.h>

namespace graphzero::bindings {

void BindErrors(nanobind::module_& m);
void BindCall(nanobind::module_& m);
void BindStore(nanobind::module_& m);
void BindVerify(nanobind::module_& m);
void BindBlocks(nanobind::module_& m);
void BindIo(nanobind::module_& m);
void BindGather(nanobind::module_& m);
void BindMatrixCompile(nanobind::module_& m);
void BindSample(nanobind::module_& m);
void BindShm(nanobind::module_& m);
void BindOrder(nanobind::module_& m);
void BindEdgeCompile(nanobind::module_& m);
void BindIdCompile(nanobind::module_& m);
void BindTextTable(nanobind::module_& m);
void BindGenerate(nanobind::module_& m);

}  // namespace graphzero::bindings
