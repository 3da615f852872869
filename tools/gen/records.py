"""Loads the operator records and derives the variants (in place, out) of each.

A table "family" describes the folder: leaf = true where little else in the library calls its
operators. taeda/ops/functions.h leaves them out, so that a change of theirs recompiles little; who
calls them includes taeda/ops/<family>/functions.h, and C++ programs get all by taeda/taeda.h.
each = [names] are unary operators that it repeats over lists (repeats.py).
Every other table of taeda/ops/<family>/records.toml is a record, named after its overload
("sum.dim_IntList"):

  schema     PyTorch's syntax
  kind       pointwise   body in ops/<family>/bodies.h (struct Name), shape and dtype rules derived
             structured  impl::<ident>_spec gives the results' shapes, a device's function of the
                         record's name writes them (cpu::<ident>)
             view        impl::<ident> returns an alias, the same on every device
             explicit    impl::<ident> serves every device; gradient formula in the record
             composite   impl::<ident> calls other operators; their gradients compose
             kernel      a device's function alone: cpu::<ident>, cpu::<ident>_out (and
                         impl::<ident>_meta when meta = true)
  parts      structured: C++ expression of other operators, for devices without a kernel of it
  kernel     true: explicit, and devices may have a faster function of their own (cpu::<ident>)
  each       the record that this one repeats for each row of its lists of tensors; see repeats.py
  at_once    true: a composite over lists, which a device's function cpu::<ident> may run at once
             where nothing above the devices would see its parts
  written_if argument = C++ condition: a list of such an operator that is written only where it holds
  lowered    true: backends/lowered writes it in the kernel IR, for devices that compile kernels;
             pointwise records are without saying so
  lowering   view, function, reduction, scan or scatter: lowering.cpp of the family says what its
             elements are, for the compiler; pointwise records have their bodies. called: the
             compiler calls it whole, since the parts of its decomposition are slower or have other
             bits. parts: a core operator that the compiler takes as what its own function calls
  variants   of function, method, inplace, out; none for an overload that only graphs name
  dtype      pointwise result rule: promote, float, compare, bool, real, mask_first, self
  accept     dtype classes a pointwise body takes: b(ool) i(nteger) f(loat) c(omplex); of other
             kinds those in which samples are made
  fills_repeats   true: in place it may write its argument `value`, or zeros, to an expanded tensor,
             of which PyTorch warns; "quietly": it may, and PyTorch says nothing
  layout_of_last   true: where operands differ in layout, the result follows the last one first
  exact_numbers   true: a number beside halves counts as it is, not rounded to them (mul, div)
  out_dtype  dtype of a structured result given as out, an expression over spec, out and the arguments
  copied_before_out   arguments of a structured record that out may overlap: kernels copy them first
  cpp_required  arguments without their default in C++, where overloads would be ambiguous
  scalar     Tensor arguments that may be given as a number
  bodies     several pointwise bodies over the same operands; select, a C++ expression, picks one
  wrap       argument = C++ expression: the tensor a pointwise body reads in its place
  uniforms   C++ expressions of the Uniform parameters, where they are not the schema's numbers in order
  check      C++ statements run before anything else; check_inplace only in the in-place form
  alias      composite: the operator whose function, in-place and out forms this one calls
  out_overload   name of the out overload where PyTorch's rule does not give it
  out_names  names of the out form's results, where they are not "out" or those of the schema
  inverse    view: how a written part goes back into the whole, see dispatch/traits.h
  overwrites   kernel or explicit, in place: the values it leaves everywhere, "source" (argument 1)
             or "zeros"; see dispatch/traits.h
  device_of_first   true: the result lies where the first tensor does, others may lie elsewhere
  mask_indices      true: masks among the indices stand for the coordinates of what they take
  counted    true: the result holds what a mask or condition takes; impl::<ident>_counted gives its
             meta tensor for a given count
  lifts_constant    true: its argument is a constant of the program
  comes_apart       true: a composite that functionalization opens, since it writes to arguments
             or draws random numbers
  unseen     true: a composite that PyTorch has as a Python function; tracers before autograd see
             the operators that it calls
  gives_itself      true: a composite whose Python form, as PyTorch's, gives the tensor back where
             nothing changes; tracers see no call then
  takes_numbers     true: numbers may stand for its tensors in taeda.ops, even where an overload for
             numbers exists
  metadata_decides  true: whether it copies depends on dtype, device and layout of its argument,
             which exported programs assert
  grad       one formula per argument, or per several: grad."query, key, value" is a tuple of
             theirs, neighbours among the arguments, in which `grad_input_mask` says which are
             wanted; or no_grad = "why there is none"
  inplace_grad   formulas of the in-place form of a record without a gradient; inplace_node names
             its node
  refuses_grad   true: backward raises what PyTorch does for an operator without a formula; a name:
             what it does for a formula that is not written, under this name
  node       the autograd node's name where PyTorch's is not made from the operator's
  inplace_node   the same for the in-place form, where PyTorch gives it a node of its own
  constant   {argument = "function"}: arguments without a derivative, refused where they require
             grad, and the function that PyTorch's message names
  plain_results   positions of results that have no derivative, such as statistics
  forward    forward-mode rule: linear, multilinear, elementwise (what pointwise records do unless
             they say otherwise), a formula over <argument>_t, or one per result; or no_forward = "why"
  batch      rule under vmap: pointwise, dims, fold, random, forbidden, unreadable, decompose, or rule
             for a function batch::<ident> of the family; or no_batch = "why it runs once per example"
  batch_error   what a forbidden call says, where PyTorch has a phrase of its own
  batch_roles   argument = role (see ops/batching.h) where its name and type do not tell
  autocast   class under autocast: lower_precision, fp32, fp32_dtype (its dtype argument is set),
             promote (widest); or a table of classes by device group: cpu, accelerator
  autocast_where   a C++ condition of the arguments without which the class does not apply
  python     name and module ("", "nn", "special", "linalg") where they differ; arguments = {schema's
             name = Python's}; inplace_function = true where PyTorch offers the in-place form of
             several tensors as a function; gives_first = true where PyTorch's binding gives the
             first argument back; deprecated = older orders of all positional parameters, which are
             taken with a warning; offered = true where Python takes the form of an overload that
             has no variants; varargs = "size"; functional = how nn.functional offers
             it (nn_functional.py)
  inplace_overload, out_overload   names of derived overloads where PyTorch's differ from the rule
  seen_whole   composite that modes and classes see itself, before it comes apart
  no_decomposition   why an operator outside the core set is no function of others
  library    why a plan that calls the operator's kernel has nothing better to write
  no_lowering   why the compiler calls the operator though it has a decomposition
  samples    sample calls, see ops/samples.h; a pointwise record without them gets two derived ones;
             or no_samples = "why none makes sense"
  golden     the values of a record that PyTorch lacks, a PyTorch expression over the arguments; or
             no_golden = "why its values are not determined"
  no_gradcheck   why its derivatives are not those of its values; or a table of reasons by argument,
             or by the text of a sample
  doc, tags
"""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import repeats
import schema as schemas

KINDS = ("pointwise", "structured", "view", "explicit", "composite", "kernel")
FIELDS = {
    "schema",
    "kind",
    "node",
    "inplace_node",
    "variants",
    "dtype",
    "accept",
    "exact_numbers",
    "fills_repeats",
    "layout_of_last",
    "scalar",
    "grad",
    "no_grad",
    "inplace_grad",
    "refuses_grad",
    "forward",
    "no_forward",
    "constant",
    "plain_results",
    "batch",
    "batch_roles",
    "no_batch",
    "no_decomposition",
    "python",
    "varargs",
    "doc",
    "tags",
    "meta",
    "factory",
    "body",
    "kernel",
    "each",
    "at_once",
    "written_if",
    "lowered",
    "lowering",
    "inverse",
    "overwrites",
    "device_of_first",
    "mask_indices",
    "counted",
    "lifts_constant",
    "comes_apart",
    "library",
    "no_lowering",
    "unseen",
    "gives_itself",
    "takes_numbers",
    "metadata_decides",
    "batch_error",
    "samples",
    "no_samples",
    "golden",
    "no_golden",
    "no_gradcheck",
    "parts",
    "spec",
    "conj_aware",
    "out_dtype",
    "copied_before_out",
    "check",
    "cpp_required",
    "check_inplace",
    "bodies",
    "select",
    "wrap",
    "uniforms",
    "alias",
    "out_overload",
    "out_names",
    "inplace_overload",
    "autocast",
    "autocast_where",
    "seen_whole",
}
AUTOCAST_CLASSES = ("lower_precision", "fp32", "fp32_dtype", "promote")
AUTOCAST_GROUPS = ("cpu", "accelerator")
DTYPE_RULES = ("promote", "float", "compare", "bool", "real", "mask_first", "self")


@dataclass
class Record:
    key: str
    family: str
    schema: schemas.Schema
    kind: str
    variants: list
    data: dict
    inplace: schemas.Schema | None = None
    out: schemas.Schema | None = None
    grad: dict = field(default_factory=dict)
    joint_grads: list = field(default_factory=list)  # names of arguments that share a formula
    is_leaf: bool = False
    repeated: "Record | None" = None

    @property
    def ident(self):
        return self.schema.ident

    @property
    def body(self):
        """Name of the body struct: CamelCase of the operator's name."""
        return self.data.get("body") or "".join(p.capitalize() for p in self.schema.name.split("_"))

    @property
    def bodies(self):
        """(kernel table, body struct) of every body a pointwise record can run."""
        names = self.data.get("bodies") or [self.body]
        return [(f"k{self.ident}_kernel{i or ''}", name) for i, name in enumerate(names)]

    @property
    def python_name(self):
        return self.data.get("python", {}).get("name", self.schema.name)

    @property
    def python_module(self):
        return self.data.get("python", {}).get("module", "")

    @property
    def schemas(self):
        return [s for s in (self.schema, self.inplace, self.out) if s]

    @property
    def node(self):
        """Name of the autograd node's type, as PyTorch spells it."""
        if "node" in self.data:
            return self.data["node"]
        base = "".join(p[:1].upper() + p[1:] for p in self.schema.name.strip("_").split("_"))
        return f"{base}Backward{[r for r in self.siblings if r.grad].index(self)}"

    siblings: list = field(default_factory=list)


def _fail(path, key, text):
    raise SystemExit(f"{path.parent.name}/{path.name}: [{key}]: {text}")


def _refuse_grad(r):
    """Formulas that raise, for every tensor among the arguments."""
    words = r.data["refuses_grad"]
    call = f'no_formula("{r.schema.name}")' if words is True else f'no_derivative("{words}")'
    for a in r.schema.tensors:
        r.grad[a.name] = f"std::vector<Tensor>{{{call}}}" if a.type.is_list else call
    r.data.setdefault("no_forward", "it has no derivative")
    r.data.setdefault("no_gradcheck", "it has no derivative and says so in backward")


def _load(path, key, data):
    unknown = set(data) - FIELDS
    if unknown:
        _fail(path, key, f"unknown fields {sorted(unknown)}")
    if "schema" not in data:
        _fail(path, key, "a record needs a schema")
    try:
        s = schemas.parse(data["schema"], data.get("cpp_required", ()))
    except ValueError as error:
        _fail(path, key, str(error))
    if s.full_name != key:
        _fail(path, key, f"the schema names {s.full_name}")
    kind = data.get("kind", "")
    if kind not in KINDS:
        _fail(path, key, f"kind must be one of {KINDS}, got {kind!r}")
    default = (
        ["function", "method", "inplace", "out"] if kind == "pointwise" else ["function", "method"]
    )
    variants = data.get("variants", default)
    r = Record(key, path.parent.name, s, kind, variants, data)
    for arguments, formula in data.get("grad", {}).items():
        shared = [n.strip() for n in arguments.split(",")]
        r.grad |= dict.fromkeys(shared, formula)
        if len(shared) > 1:
            r.joint_grads.append(shared)
    if "refuses_grad" in data:
        if kind == "composite":
            _fail(path, key, "a composite has the gradients of what it calls, and can refuse none")
        _refuse_grad(r)
    if "inplace" in variants and not s.is_inplace:
        r.inplace = schemas.inplace_of(s, data.get("inplace_overload"))
    if "out" in variants:
        r.out = schemas.out_of(
            s, data.get("out_overload"), data.get("factory", False), data.get("out_names")
        )
    names = {a.name for a in s.arguments}
    for argument in r.grad:
        if argument not in names:
            _fail(path, key, f"gradient of {argument!r}, which is no argument")
    if kind == "pointwise":
        if data.get("dtype", "promote") not in DTYPE_RULES:
            _fail(path, key, f"dtype must be one of {DTYPE_RULES}")
    autocast = data.get("autocast", {})
    groups = {"cpu": autocast} if isinstance(autocast, str) else autocast
    if not set(groups) <= set(AUTOCAST_GROUPS) or not set(groups.values()) <= set(AUTOCAST_CLASSES):
        _fail(path, key, f"autocast takes {AUTOCAST_CLASSES}, by {AUTOCAST_GROUPS}")
    if "inplace_grad" in data and (not r.inplace or r.grad or "inplace_node" not in data):
        _fail(path, key, "inplace_grad is for the in-place form of a record without a gradient")
    if kind != "composite" and not r.grad and "no_grad" not in data:
        _fail(path, key, 'give grad formulas or no_grad = "why there is none"')
    return r


def _check_family(path, properties):
    unknown = set(properties) - {"leaf", "each"}
    if unknown:
        _fail(path, "family", f"unknown properties {sorted(unknown)}")


def _load_repeats(path, tables, by_key):
    """The records over lists, of tables that name those which they repeat."""
    for key, data in tables:
        if data["each"] not in by_key:
            _fail(path, key, f"repeats {data['each']!r}, which is no record")
        base = by_key[data["each"]]
        for form, derived in repeats.expanded(data, base):
            r = _load(path, form, derived)
            r.repeated = base
            yield r


def load(folder):
    """Every record, families in alphabetical order, records in file order."""
    records, repeated, leaves = [], [], set()
    for path in sorted(Path(folder).glob("*/records.toml")):
        with open(path, "rb") as fh:
            tables = tomllib.load(fh)
        family = tables.pop("family", {})
        _check_family(path, family)
        if family.get("leaf", False):
            leaves.add(path.parent.name)
        over_lists = [repeats.unary(name) for name in family.get("each", [])]
        over_lists += [(key, data) for key, data in tables.items() if "each" in data]
        repeated.append((path, over_lists))
        records += [_load(path, key, data) for key, data in tables.items() if "each" not in data]
    by_key = {r.key: r for r in records}
    for path, tables in repeated:
        records += _load_repeats(path, tables, by_key)
    records.sort(key=lambda r: r.family)
    for r in records:
        r.is_leaf = r.family in leaves
    seen = {}
    for r in records:
        for s in r.schemas:
            if s.full_name in seen:
                raise SystemExit(
                    f"{s.full_name} is defined twice: {seen[s.full_name]} and {r.family}"
                )
            seen[s.full_name] = r.family
    by_name = {}
    for r in records:
        by_name.setdefault(r.schema.name.strip("_"), []).append(r)
    for r in records:
        r.siblings = by_name[r.schema.name.strip("_")]
    return records


def families(records):
    out = {}
    for r in records:
        out.setdefault(r.family, []).append(r)
    return out


def words(text):
    return set(re.findall(r"[A-Za-z_]\w*", text))
