"""Features from pretrained networks, for columns of texts and of pictures."""

from ambilearn.features.pretrained import PretrainedFeatures

__all__ = ["PretrainedFeatures"]
