"""BlockMask: which blocks of scores are computed, as lists of columns by row."""

from itertools import product
from math import prod

from taeda import _C
from taeda.nn.attention._modifications import (
    _get_mod_type,
    _ModificationType,
    create_mask,
    noop_mask,
)

_DEFAULT_SPARSE_BLOCK_SIZE = 128


def _sliced_mask_mod_error(batch, head, token_q, token_kv):
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the "
        "mask_mod attribute is reset. You must set it from the original BlockMask's mask_mod."
    )


# ---- dense masks of blocks, and lists of columns ----
def _ordered_to_dense(num_blocks_in_row, col_indices, num_cols):
    """Ones where a row's list, cut to its length, has the column."""
    places = _C.arange(col_indices.shape[-1], device=col_indices.device)
    is_listed = places < num_blocks_in_row.unsqueeze(-1)
    # What is not listed goes to one more column, which is dropped.
    columns = _C.where(is_listed, col_indices, num_cols).long()
    dense = col_indices.new_zeros((*col_indices.shape[:-1], num_cols + 1), dtype=_C.int32)
    return dense.scatter_(-1, columns, 1)[..., :num_cols].contiguous()


def _dense_to_ordered(dense_mask):
    """(how many, columns with those first) of each row."""
    dense_mask = dense_mask.to(dtype=_C.int32)
    columns = _C.argsort(dense_mask, dim=-1, descending=True, stable=True)
    return dense_mask.sum(dim=-1).to(_C.int32), columns.to(_C.int32)


def _transpose_ordered(num_blocks_in_row, col_indices):
    dense = _ordered_to_dense(num_blocks_in_row, col_indices, col_indices.shape[-1])
    return _dense_to_ordered(dense.transpose(-2, -1))


def _cropped(num_blocks, indices, rows, columns):
    """The lists of the upper left blocks."""
    indices = indices[:, :, :rows, :columns]
    num_blocks = num_blocks[:, :, :rows].clamp(max=columns)
    num_blocks = (indices < num_blocks.unsqueeze(-1)).sum(dim=-1).to(_C.int32)
    return num_blocks, indices


def _pair(size):
    return (size, size) if isinstance(size, int) else tuple(size)


class BlockMask:
    """The blocks of scores that a mask_mod leaves.

    `kv_num_blocks` and `kv_indices` list, for each block of queries, the blocks of keys with a
    mask inside; `full_*` those without; `q_*` are the same by block of keys.
    """

    _TENSOR_ATTRS = (
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    )

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks,
        full_kv_indices,
        q_num_blocks,
        q_indices,
        full_q_num_blocks,
        full_q_indices,
        BLOCK_SIZE=(_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod=noop_mask,
    ):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, first, second in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (first is None) != (second is None):
                raise AssertionError(
                    f"full_{name}_num_blocks and full_{name}_indices must be both provided or "
                    "omitted"
                )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
    ):
        """A mask of the lists by block of queries; those by block of keys are computed."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        by_key = full_by_key = (None, None)
        if compute_q_blocks:
            by_key = _transpose_ordered(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None:
                full_by_key = _transpose_ordered(full_kv_num_blocks, full_kv_indices)
        BLOCK_SIZE = _pair(BLOCK_SIZE)
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = (rows * BLOCK_SIZE[0], columns * BLOCK_SIZE[1])
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *by_key,
            *full_by_key,
            BLOCK_SIZE=BLOCK_SIZE,
            mask_mod=noop_mask if mask_mod is None else mask_mod,
        )

    def _tensors(self):
        return tuple(getattr(self, name) for name in self._TENSOR_ATTRS)

    def as_tuple(self, flatten=True):
        """Lengths, tensors, block sizes and mask_mod; pairs stay pairs unless `flatten`."""
        lengths, sizes = (
            (self.seq_lengths, self.BLOCK_SIZE)
            if flatten
            else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        )
        return (*lengths, *self._tensors(), *sizes, self.mask_mod)

    @property
    def shape(self):
        """Batch dimensions, number of queries, number of keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """How many scores there would be."""
        return prod(self.shape)

    def sparsity(self):
        """The percentage of scores that are not computed."""
        blocks = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            blocks = blocks + self.full_kv_num_blocks.sum()
        return 100 * (1 - blocks.item() * prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self):
        """Ones for the blocks that are computed."""
        columns = self.kv_indices.shape[-1]
        dense = _ordered_to_dense(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is not None:
            dense = dense | _ordered_to_dense(
                self.full_kv_num_blocks, self.full_kv_indices, columns
            )
        return dense

    def to(self, device):
        """The mask on another device."""
        moved = (None if tensor is None else tensor.to(device) for tensor in self._tensors())
        return BlockMask(self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)

    def __getitem__(self, index):
        """A part of batches, heads and blocks of queries; its mask_mod has to be set anew."""
        index = index if isinstance(index, tuple) else (index,)
        index = (*index, slice(None), slice(None), slice(None))[:3]
        sizes = self.kv_num_blocks.shape[:3]
        for dim, (i, n) in enumerate(zip(index, sizes)):
            if isinstance(i, int) and not -n <= i < n:
                raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")
        index = tuple(
            slice(i % n, i % n + 1) if isinstance(i, int) else i for i, n in zip(index, sizes)
        )
        lists = (t if t is None else t[index] for t in self._tensors()[:4])
        return BlockMask.from_kv_blocks(
            *lists,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=_sliced_mask_mod_error,
            seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )

    def _adjust(self, new_q_len, new_kv_len):
        """The mask of the first queries and keys."""
        rows = -(-new_q_len // self.BLOCK_SIZE[0])
        columns = -(-new_kv_len // self.BLOCK_SIZE[1])
        lists = _cropped(self.kv_num_blocks, self.kv_indices, rows, columns)
        if self.full_kv_num_blocks is not None:
            lists += _cropped(self.full_kv_num_blocks, self.full_kv_indices, rows, columns)
        return self.from_kv_blocks(
            *lists,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len),
            compute_q_blocks=self.q_indices is not None,
        )

    # ---- printed forms ----
    def __repr__(self):
        lines = [
            f"    {name}={None if tensor is None else tensor.shape},"
            for name, tensor in zip(self._TENSOR_ATTRS, self._tensors())
        ]
        lines += [
            f"    BLOCK_SIZE={self.BLOCK_SIZE},",
            f"    shape={self.shape},",
            f"    sparsity={self.sparsity():.2f}%,",
            f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}",
        ]
        return "BlockMask(\n" + "\n".join(lines) + "\n)"

    def __str__(self):
        blocks = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{blocks}\n)"

    def to_string(self, grid_size=(20, 20), limit=4):
        """A drawing per batch and head: full, half or empty squares."""
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        if grid_size == -1:
            grid_size = (rows, columns)
        steps = [max(1, -(-n // most)) for n, most in zip((rows, columns), _pair(grid_size))]
        drawings = []
        for count, index in enumerate(product(*map(range, batch))):
            if count == limit:
                drawings += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or "
                    "head",
                ]
                break
            drawings.append(f"{index}\n" + _drawing(dense[index], *steps))
        return "\n".join(drawings)


def _drawing(dense, row_step, column_step):
    text = ""
    for row in range(0, dense.shape[0], row_step):
        for column in range(0, dense.shape[1], column_step):
            part = dense[row : row + row_step, column : column + column_step]
            share = part.float().mean().item()
            text += {1: "█", 0: " "}.get(share, "░") * 2
        text += "\n"
    return text


def _blocks(mask, q_size, kv_size):
    """How many places of each block the mask lets through; beyond the edges it is closed."""
    if mask.dtype != _C.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    batch, heads, queries, keys = mask.shape
    rows, columns = -(-queries // q_size), -(-keys // kv_size)
    padded = mask.new_zeros((batch, heads, rows * q_size, columns * kv_size))
    padded[:, :, :queries, :keys] = mask
    return padded.view(batch, heads, rows, q_size, columns, kv_size).sum(dim=(3, 5))


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
    compute_dq_write_order=False,
    dq_kv_order=True,
):
    """The BlockMask of a mask_mod; blocks without a mask inside are listed separately."""
    if _get_mod_type(mask_mod) != _ModificationType.MASK_MOD:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if compute_dq_write_order:
        raise NotImplementedError(
            "[create_block_mask] compute_dq_write_order is an order of CUDA kernels, which are "
            "not there yet"
        )
    sizes = _pair(BLOCK_SIZE)
    counts = _blocks(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), *sizes)
    if separate_full_blocks:
        is_full = counts == prod(sizes)
        lists = (*_dense_to_ordered((counts > 0) & ~is_full), *_dense_to_ordered(is_full))
    else:
        lists = _dense_to_ordered(counts > 0)
    return BlockMask.from_kv_blocks(
        *lists, BLOCK_SIZE=sizes, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )
