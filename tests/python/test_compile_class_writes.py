"""Compiled programs that write to attributes of classes, modules and functions."""

import types

import pytest
from taeda._dynamo.utils import counters

import taeda
from taeda import nn

X = taeda.ones(3)


def _compare(make, calls=5, graphs=2, breaks=0):
    """Results and state of calls, plainly and compiled."""
    found = []
    for is_compiled in (False, True):
        taeda.compiler.reset()
        counters.clear()
        function, read = make()
        run = taeda.compile(function, backend="eager") if is_compiled else function
        found.append([(run(X + i).sum().item(), read()) for i in range(calls)])
    assert found[0] == found[1]
    assert sum(counters["graph_break"].values()) == breaks
    assert counters["stats"]["unique_graphs"] == graphs


def test_a_class_counts_calls():
    def make():
        class Counter:
            count = 0

        def program(x):
            Counter.count += 1
            return x * Counter.count

        return program, lambda: Counter.count

    _compare(make)


def test_the_class_of_a_module_counts_calls():
    def make():
        class Counted(nn.Module):
            calls = 0

            def forward(self, x):
                type(self).calls = type(self).calls + 1
                return x + self.calls

        return Counted(), lambda: Counted.calls

    _compare(make)


def test_a_derived_class_gets_an_attribute_of_its_own():
    def make():
        class Base:
            calls = 0

        class Derived(Base):
            def run(self, x):
                type(self).calls += 1
                return x * 2

        return Derived().run, lambda: (Base.calls, Derived.calls, "calls" in vars(Derived))

    _compare(make)


def test_a_base_class_is_written_by_methods():
    def make():
        class Base:
            total = 0

            def add(self):
                Base.total += 2

        class Derived(Base):
            def run(self, x):
                self.add()
                self.add()
                return x + self.total

        return Derived().run, lambda: (Base.total, "total" in vars(Derived))

    _compare(make)


def test_class_methods_write_what_they_read():
    def make():
        class Numbers:
            last = 0

            @classmethod
            def next(cls):
                cls.last += 1
                return cls.last

        return lambda x: x * Numbers.next() + Numbers.next(), lambda: Numbers.last

    _compare(make)


def test_an_attribute_that_is_there_for_a_while():
    def make():
        class Scratch:
            pass

        def program(x):
            Scratch.by = 3
            y = x * Scratch.by
            del Scratch.by
            return y + hasattr(Scratch, "by")

        return program, lambda: hasattr(Scratch, "by")

    _compare(make, graphs=1)


def test_a_class_keeps_a_tensor():
    def make():
        class Kept:
            last = None

        def program(x):
            Kept.last = x + 1
            return Kept.last * 2

        return program, lambda: Kept.last.sum().item()

    _compare(make, graphs=1)


def test_writes_before_and_behind_a_break():
    def make():
        class Counter:
            n = 0

        def program(x):
            Counter.n += 1
            taeda._dynamo.graph_break()
            Counter.n += 1
            return x + Counter.n

        return program, lambda: Counter.n

    _compare(make, graphs=3, breaks=2)


def test_attributes_of_modules_and_functions():
    def make():
        settings = types.ModuleType("settings")
        settings.n = 0

        def program(x):
            settings.n += 1
            program.calls += 1
            return x + settings.n + program.calls

        program.calls = 0
        return program, lambda: (settings.n, program.calls)

    _compare(make)


def test_data_of_a_class_that_nobody_reads_changes():
    class Scale:
        by = 2
        seen = 0

        def run(self, x):
            return x * self.by

    compiled = taeda.compile(Scale().run, backend="eager")
    counters.clear()
    for i in range(5):
        Scale.seen = i
        assert compiled(X).sum().item() == 6
    assert counters["stats"]["unique_graphs"] == 1


def test_what_a_class_does_changes():
    class Scale:
        by = 2

        def run(self, x):
            return self.inner(x) * self.by

        def inner(self, x):
            return x

    class Sharper(Scale):
        pass

    compiled = taeda.compile(Sharper().run, backend="eager")
    assert compiled(X).sum().item() == 6
    Scale.by = 3
    assert compiled(X).sum().item() == 9
    Scale.inner = lambda self, x: x + 1
    assert compiled(X).sum().item() == 18
    Sharper.by = 5  # in place of the base's
    assert compiled(X).sum().item() == 30
    Scale.by = property(lambda self: 7)
    assert compiled(X).sum().item() == 30
    del Sharper.by
    assert compiled(X).sum().item() == 42
    Sharper.inner = lambda self, x: x
    assert compiled(X).sum().item() == 21


def test_a_guard_by_another_look_at_a_class_goes_on_noticing():
    class Scale:
        count = 0

        def run(self, x):
            return x * 2

    compiled = taeda.compile(Scale().run, backend="eager")
    assert compiled(X).sum().item() == 6
    Scale.count += 1
    assert compiled(X).sum().item() == 6
    Scale.run, former = (lambda self, x: x * 4), Scale.run
    Scale.count += 1
    again = taeda.compile(Scale().run, backend="eager")
    assert again(X).sum().item() == 12
    Scale.run = former


def test_writes_that_are_more_than_data_are_breaks():
    class Watched(type):
        def __setattr__(cls, name, value):
            seen.append(name)
            super().__setattr__(name, value)

    class Told(metaclass=Watched):
        n = 0

    class Plain:
        def act(self):
            return 1

    seen = []

    def program(x):
        Told.n = 1
        Plain.act = lambda self: 2
        return x * Plain().act()

    counters.clear()
    assert taeda.compile(program, backend="eager")(X).sum().item() == 6
    assert seen == ["n"] and Plain().act() == 2
    assert sum(counters["graph_break"].values()) == 2


def test_an_error_of_the_program():
    class Empty:
        pass

    def program(x):
        del Empty.missing
        return x

    with pytest.raises(AttributeError, match="missing"):
        taeda.compile(program, backend="eager")(X)


@pytest.mark.parametrize("is_own", [False, True])
def test_a_deletion_takes_what_a_class_has_itself(is_own):
    def make():
        class Base:
            v = 1

        class Derived(Base):
            pass

        made = Derived()
        if is_own:
            Derived.v = 2

        def program(x):
            texts = []
            for of, name in ((Derived, "v"), (Derived, "v"), (made, "v"), (made, "w"), (Base, "w")):
                try:
                    delattr(of, name)
                except AttributeError as error:
                    texts.append(str(error))
            return x * Derived.v, texts

        return program, Derived

    (plain, _), (program, derived) = make(), make()
    compiled = taeda.compile(program, backend="eager", fullgraph=True)
    for _ in range(3):
        assert repr(compiled(X)) == repr(plain(X))
        assert "v" not in vars(derived) and derived.v == 1


def test_data_behind_super_is_guarded():
    class Base:
        scale = 4
        shifts = [1, 2]

    class Derived(Base):
        scale = 1

        def run(self, x):
            return x * super().scale + sum(super().shifts)

        @classmethod
        def of_class(cls, x):
            return x + super().scale

    compiled = taeda.compile(Derived().run, backend="eager", fullgraph=True)
    of_class = taeda.compile(Derived.of_class, backend="eager", fullgraph=True)
    for scale, shifts in ((4, [1, 2]), (5, [1, 2]), (5, [3, 3])):
        Base.scale, Base.shifts = scale, shifts
        assert compiled(X).tolist() == [scale + sum(shifts)] * 3
        assert of_class(X).tolist() == [1 + scale] * 3
    Base.shifts.append(4)
    assert compiled(X).tolist() == [5 + 10] * 3
