"""Autocast kernels: the casts before an operator whose record names an autocast class."""

from cpp_autograd import kernel_head, redispatch

# Device types an `accelerator` class covers; Meta and Lazy tensors are never cast.
DEVICES = {
    "cpu": "device == DeviceType::CPU",
    "accelerator": "device != DeviceType::CPU",
}


def classes(r):
    """Device group -> autocast class of a record; a plain string stands for every group."""
    given = r.data.get("autocast", {})
    return dict.fromkeys(DEVICES, given) if isinstance(given, str) else given


def cast_call(s, to):
    args = (
        f"cached_cast({to}, {a.name}, device)" if a.type.is_tensor else a.name for a in s.arguments
    )
    return f"ops::{s.ident}({', '.join(args)})"


def fp32_dtype_call(s):
    """The sum is taken in float32, in a `dtype` of the operator's own, unless the caller gave one."""
    first = s.tensors[0].name
    args = (
        f"is_eligible({first}, device) && !dtype ? DType::Float : dtype"
        if a.name == "dtype"
        else a.name
        for a in s.arguments
    )
    return f"ops::{s.ident}({', '.join(args)})"


def call(s, autocast_class):
    if autocast_class == "fp32_dtype":
        return fp32_dtype_call(s)
    tensors = ", ".join(a.name for a in s.tensors)
    to = {
        "lower_precision": "dtype_of(device)",
        "fp32": "DType::Float",
        "promote": f"widest(device, {tensors})",
    }[autocast_class]
    return cast_call(s, to)


def kernel(r):
    s, by_group = r.schema, classes(r)
    chosen = list(dict.fromkeys(by_group.values()))
    everywhere = len(by_group) == len(DEVICES)
    condition = "" if everywhere else f" || !({DEVICES[next(iter(by_group))]})"
    if "autocast_where" in r.data:
        condition += f" || !({r.data['autocast_where']})"
    tensors = ", ".join(a.name for a in s.tensors)
    text = f"{kernel_head(s)} {{\n  const DeviceType device = device_of(ks, {tensors});\n"
    text += f"  if (!is_enabled(device){condition}) return {redispatch(s, 'Autocast')};\n"
    text += "  ExcludeKeys guard(Key::Autocast);\n"
    if len(chosen) > 1:
        text += f"  if ({DEVICES['cpu']}) return {call(s, by_group['cpu'])};\n"
        chosen = [by_group["accelerator"]]
    return text + f"  return {call(s, chosen[0])};\n}}\n"


def family_code(records):
    kernels = [kernel(r) for r in records if classes(r)]
    return (
        "namespace taeda::autocast {\n\n"
        + "\n".join(kernels)
        + "\n}  // namespace taeda::autocast\n"
    )
