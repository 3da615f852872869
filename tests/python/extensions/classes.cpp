// Classes of one's own, for Python through pybind11 and for operators through torch::class_.
#include <pybind11/operators.h>
#include <torch/extension.h>

#include <memory>

// ---- pybind11 ----
enum class Kind { Plain, Scaled };

struct Layer {
  Layer(int64_t in, int64_t out) : weight(torch::ones({out, in}, torch::requires_grad())) {}
  torch::Tensor forward(const torch::Tensor& x) { return x.mm(weight.t()) * scale; }
  int64_t width() const { return weight.size(0); }
  void set_scale(double s) {
    TORCH_CHECK_VALUE(s > 0, "scale must be positive, got ", s);
    scale = s;
  }
  bool operator==(const Layer& o) const { return scale == o.scale; }

  torch::Tensor weight;
  double scale = 1;
  std::string name = "layer";
};

// ---- operators ----
struct Counter : torch::CustomClassHolder {
  explicit Counter(int64_t start) : at(start) {}
  int64_t next(int64_t by) { return at += by; }
  torch::Tensor filled(const torch::Tensor& like) const { return torch::full_like(like, at); }
  int64_t at;
  std::vector<std::string> notes{"new"};
};
using CounterPtr = c10::intrusive_ptr<Counter>;

CounterPtr advanced(const CounterPtr& counter, int64_t by) {
  return c10::make_intrusive<Counter>(counter->at + by);
}

TORCH_LIBRARY(test_classes, m) {
  m.class_<Counter>("Counter")
      .def(torch::init<int64_t>())
      .def("next", &Counter::next)
      .def("filled", &Counter::filled)
      .def("twice", [](const CounterPtr& self) { return 2 * self->at; })
      .def_static("zero", [] { return c10::make_intrusive<Counter>(0); })
      .def_readwrite("notes", &Counter::notes)
      .def_readonly("at", &Counter::at)
      .def_pickle([](const CounterPtr& self) { return self->at; },
                  [](int64_t at) { return c10::make_intrusive<Counter>(at); });
  m.def(
      "advanced(__torch__.torch.classes.test_classes.Counter c, int by) -> "
      "__torch__.torch.classes.test_classes.Counter",
      &advanced);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::enum_<Kind>(m, "Kind").value("Plain", Kind::Plain).value("Scaled", Kind::Scaled);
  py::class_<Layer, std::shared_ptr<Layer>>(m, "Layer", "A layer.")
      .def(py::init<int64_t, int64_t>(), py::arg("in_features"), py::arg("out_features") = 2)
      .def("forward", &Layer::forward)
      .def("__call__", &Layer::forward)
      .def("kind", [](const Layer& l) { return l.scale == 1 ? Kind::Plain : Kind::Scaled; })
      .def_readwrite("name", &Layer::name)
      .def_readonly("weight", &Layer::weight)
      .def_property(
          "scale", [](const Layer& l) { return l.scale; }, &Layer::set_scale)
      .def_property_readonly("width", &Layer::width)
      .def(py::self == py::self);
  m.def("made", [](int64_t n) { return std::make_shared<Layer>(n, n); });
  m.def("shared", [](std::shared_ptr<Layer> l) { return l; });
  m.def("mapped", [](const std::function<torch::Tensor(torch::Tensor)>& f, torch::Tensor x) {
    return f(x) + 1;
  });
  m.def("described", [](py::dict options, std::optional<torch::Device> device) {
    return std::make_pair(options.contains("x"), device ? device->text() : "none");
  });
}
