// SPDX-License-Identifier: MIT
// A C++ function that Python finds.
//
// This is compiled to a module with the name that the build gives in TORCH_EXTENSION_NAME. Write the
// binding that functions=["area"] would have generated, so that Python can call module.area(2.0, 3.0);
// m.def("area", &area) is enough: torch::wrap_pybind_function needs PyTorch's headers.
#include <pybind11/pybind11.h>
#include <stdexcept>

double area(double width, double height) {
    if (width < 0 || height < 0) throw std::runtime_error("area: a side is negative");
    return width * height;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("area", &area); }
