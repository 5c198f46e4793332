"""Changed copies of ZIP archives: model files, skops files, Excel files."""

import io
import zipfile


def edit_archive(content, edit):
    """The archive with each member replaced by ``edit(name, data)``."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, edit(name, old.read(name)))
    return target.getvalue()


def edit_member(content, member, edit):
    """The archive with one member replaced by ``edit(data)``."""
    return edit_archive(content, lambda name, data: edit(data) if name == member else data)
