"""
Learning from images
====================

:class:`~ambilearn.DeepPLCL` trains a network on images with candidate labels. It needs PyTorch:
``pip install ".[deep]"``. The outputs on this page are stored: the documentation is built without
PyTorch. The script takes less than a minute on a CPU.
"""

# %%
# Images and candidates
# ---------------------
#
# Images of 8 × 8 pixels, in which every false label is a candidate with probability .3.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ambilearn import PLCL, DeepPLCL
from ambilearn.datasets import make_candidates

images, y = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8)
images, new_images, y, y_new = train_test_split(images, y, train_size=600, random_state=0)
candidates, _ = make_candidates(y, kind="flip", q=0.3, random_state=0)
print(f"{candidates.sizes.mean():.2f} candidates per image")

# %%
# .. code-block:: none
#
#    3.68 candidates per image
#
# Training
# --------
#
# The ordinary head of the network learns the labels; the complementary head learns which candidates
# are wrong. ``settled`` is the share of the images with a candidate of confidence .9 or more.

model = DeepPLCL(epochs=20, device="cpu", random_state=0).fit(images, candidates)
for report in model.history_[::5]:
    print(f"epoch {report.epoch:2}, loss {report.loss:.2f}, settled {report.settled:.2f}")

# %%
# .. code-block:: none
#
#    epoch  1, loss 4.01, settled 0.04
#    epoch  6, loss 3.24, settled 0.76
#    epoch 11, loss 3.54, settled 0.89
#    epoch 16, loss 2.63, settled 0.96
#
# Accuracy
# --------
#
# PL-CL learns from the same images as rows of pixels.

rows, new_rows = (part.reshape(len(part), -1) / 16 for part in (images, new_images))
plcl = PLCL().fit(rows, candidates)
for name, fitted, test in (("DeepPLCL", model, new_images), ("PLCL", plcl, new_rows)):
    cleaned = (fitted.transduction_ == y).mean()
    print(f"{name:8}  cleaned {cleaned:.3f}, new images {fitted.score(test, y_new):.3f}")

# %%
# .. code-block:: none
#
#    DeepPLCL  cleaned 0.995, new images 0.983
#    PLCL      cleaned 0.992, new images 0.975
#
# The images to check first
# -------------------------
#
# The images whose most confident candidate has the lowest confidence.

confidence = model.label_distributions_.max(axis=1)
figure, axes = plt.subplots(1, 8, figsize=(8, 1.6))
for axis, i in zip(axes, confidence.argsort()[:8], strict=True):
    axis.imshow(images[i], cmap="gray_r")
    axis.set_title(f"{model.transduction_[i]} ({confidence[i]:.2f})\ntrue: {y[i]}", fontsize=8)
    axis.axis("off")
figure.tight_layout()
# sphinx_gallery_thumbnail_path = "_static/images_to_check.png"

# %%
# .. image:: /_static/images_to_check.png
#    :alt: Eight images of digits with their most confident candidate, its confidence and the label
