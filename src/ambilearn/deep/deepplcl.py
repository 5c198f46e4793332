"""DeepPLCL: PL-CL with a deep network, whose second head learns which labels are wrong."""

from collections.abc import Iterator
from contextlib import nullcontext
from numbers import Integral, Real
from os import PathLike, fspath
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from ambilearn._utils.rounds import Round, report_round
from ambilearn._utils.sklearn_compat import Interval, StrOptions
from ambilearn._utils.text import requires_extra
from ambilearn._utils.types import AnyCandidates, RandomState
from ambilearn._utils.warnings import InterruptedWarning, may_end_early, warn_user
from ambilearn.backend import HOST, Backend, Support
from ambilearn.base import PartialLabelClassifier, normalize_votes
from ambilearn.candidates import CandidateSets
from ambilearn.fitting import WeightedRowsMixin, unchanged_on_error
from ambilearn.rows import TrainingRows

if TYPE_CHECKING:
    import torch

    from ambilearn.deep.augment import View
    from ambilearn.deep.checkpoint import Checkpoint
    from ambilearn.deep.options import Standardizer
    from ambilearn.deep.rows import DeepRows
    from ambilearn.deep.training import Trainer

_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")
_SHARE = Interval(Real, 0, 1, closed="both")


class DeepPLCL(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, WeightedRowsMixin, PartialLabelClassifier
):
    r"""Deep PL-CL: a network with an ordinary and a complementary head.

    A network maps a row to features, on which an ordinary head f (softmax) gives the probability of
    each label and a complementary head f̂ (sigmoid) the probability that a label is *not* the truth.
    Every row has confidences P on its candidates S. In each step, for a weakly augmented view x′
    and a strongly augmented view x″,

    .. math::

        t &\propto 1_S \circ \sqrt{f(x') \circ f(x'')} \circ (1 - \hat f(x'))^c,
        \quad P \leftarrow t, \\
        \text{loss} &= \tfrac r2 [\mathrm{CE}(P, f(x')) + \mathrm{CE}(P, f(x''))]
        - \tfrac12 \sum_{x', x''} \log \sum_{j \in S} f_j + \tau\,\mathrm{BCE}(\hat f, Q),

    averaged over the rows. BCE is the mean over the labels and both views. Q is 1 off the
    candidates and s (1 − P) on them. First r grows from 0 to 1, then s. When r is 1, the strong
    views of settled rows are mixed in pairs [4]_ and not used for t. Weights w of candidates
    multiply t by :math:`w^\gamma`. γ is fitted to the confidences at the start of each epoch. When
    r is 1, it falls to 0, because the network has learned from the weights by then.

    PRODEN [1]_, RC, CC [2]_ and CRDPLL [3]_ are combinations of the same terms (``loss``). PRODEN
    and CRDPLL use the confidences of the previous visit of a row, and RC updates them after the
    step. CRDPLL adds the cross-entropies of the views instead of averaging them, and its second
    term is :math:`-\sum_{j \notin S} \log(1 - f_j(x'))`. The loss of CC does not contain P: the
    network does not learn from weights of candidates, and γ is 1.

    Parameters
    ----------
    module : "auto", str, path, torch.nn.Module, or callable that makes one, default="auto"
        Network that maps a batch to features of shape (rows, features); the heads are added to it.
        ``"auto"`` is a multilayer perceptron for a matrix (its features are the columns and 256
        more), a ResNet-9 for images of up to 64 pixels, which is narrower on a CPU, and a ResNet-18
        for larger ones, all untrained. Any other text is the name or the folder of a pretrained
        network for images, as in :class:`~ambilearn.features.PretrainedFeatures`; it scales the
        images to its size. An instance is copied; its weights that do not require a gradient do not
        change.
    frozen : bool, default=False
        Whether the weights of ``module`` stay as they are. Its features of the rows are then
        computed once, and the multilayer perceptron learns from their matrix, with its views.
    loss : {"plcl", "proden", "rc", "cc", "crdpll"}, default="plcl"
        Method. It sets those of the next three parameters that are None.
    comp_weight : float, optional
        τ, the weight of the complementary head's loss; 4 for PL-CL, otherwise 0. The power c of the
        head in the targets is 1 if τ is positive, otherwise 0.
    ramp : float, optional
        Share of the epochs in which r grows to 1; s grows to 1 in the others. The share is .5 for
        PL-CL, .4 for CRDPLL, otherwise 0.
    mixup : bool, optional
        Whether to mix the strong views of settled rows (confidence of .9 or more) in pairs after
        the ramp, and their losses by the same shares; True for PL-CL, otherwise False. Without a
        strong view it has no effect.
    augment : "auto", pair of callables, or None, default="auto"
        Functions that make the weak and the strong view of a batch of standardized rows, a tensor
        on the device; either may be None. Without a strong view there is only the weak one. The
        losses PRODEN, RC and CC use no strong view. ``"auto"`` shifts, mirrors, recolors, warps and
        partially erases images (gray ones are not mirrored: they may be letters), and adds noise to
        the rows of a matrix. None uses the rows as they are.
    epochs : int, optional
        Passes over the rows, each in random order. Rows that do not fill the last batch of a pass
        are left out. By default 100, or 25 for images on a CPU, but more if a training has fewer
        than 1,500 steps otherwise. Fewer than 600 steps give a warning.
    batch_size : int, optional
        Rows per step; by default about a fiftieth of the rows, between 32 and 512. Rows of more
        than about 23,000 values, such as color images of 88 x 88 pixels, have smaller batches.
    lr : float, default=0.05
        Largest learning rate. The rate rises in the first fifth of the steps and then falls.
    weight_decay : float, optional
        Weight decay; by default .01 for a matrix, otherwise .005. Biases and the scales of
        normalizations do not decay.
    normalize : "auto", pair of array-likes, or None, default="auto"
        Mean and standard deviation of each feature or channel; ``"auto"`` takes those of the
        training rows, or of the configuration of a named network. Another network that was trained
        before needs the values it was trained with. None
        leaves the rows as they are. Images and items of a dataset of type ``uint8`` are divided by
        255 first, so the values refer to the range from 0 to 1.
    image_size : int or pair of int, optional
        Side, or height and width, of images from files. By default their own size if all have the
        same size, otherwise the median of their shorter sides; at most 224.
    device : str, default="auto"
        Device of PyTorch, such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` is a GPU if there is one.
    checkpoint : path, optional
        File to which the state of the training is written once a minute, also after Ctrl-C. A fit
        with the same rows and parameters continues from it, and deletes it when complete. Networks
        are compared by their parts and frozen weights, and functions in ``augment`` by their names.
        Every fit needs a file of its own: use None in ``cross_val_score`` and ``GridSearchCV``.
    warm_start : bool, default=False
        Start from the weights of the previous fit, which must have the same labels and network.
        With ``normalize="auto"``, mean and standard deviation are those of the first fit. A fit
        that fails leaves the previous one as it was.
    callbacks : sequence of callables, default=()
        Each is called after every epoch with a report that has ``epoch``, ``n_epochs``, ``loss``,
        ``settled`` (share of the rows with a candidate of confidence .9 or more), ``seconds`` and
        ``seconds_left``. ``callbacks=[print]`` prints the reports.
    random_state : int, RandomState instance or None, default=None
        Seed of the weights, views and batches.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    label_distributions_ : ndarray of shape (n, l)
        Confidence of every candidate of the training rows, by the final network.
    transduction_ : ndarray of shape (n,)
        Most confident candidate of every training row.
    train_output_ : ndarray of shape (n, l)
        Probabilities of all labels for the training rows.
    module_hash_ : str or None
        Hash of the files of a named network. A model file has this hash, and weights only if they
        were trained.
    module_ : torch.nn.Module
        The network with its heads; its weights are the average over the steps.
    n_epochs_ : int
        Epochs done: fewer than ``epochs`` if the fit was interrupted.
    history_ : list
        The reports of the epochs of this fit.
    n_features_in_ : int
        Number of columns, if X was a matrix.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when X was a data frame with string column names.

    See Also
    --------
    PLCL : The method of the paper, for features and up to a million rows.

    Notes
    -----
    X is a matrix; an array of images of shape (n, h, w), (n, h, w, c) or (n, c, h, w), where the
    channels are the smaller of the second and the last dimension, or the last if they are equal; a
    list of image files; or a PyTorch dataset, whose items are the rows, or tuples or lists that
    begin with the row. Rows that fit in memory are read once, so a dataset should not augment them:
    ``augment`` does.

    After the first epoch, Ctrl-C ends the training and leaves a model that can be used. During the
    first epoch it ends the fit without a model, as do another Ctrl-C and one after the last epoch.
    Another fit with ``checkpoint`` continues after the last epoch that was written. In a fold
    of :class:`CandidateSearchCV`, :class:`CrowdClassifier` or :func:`find_doubtful`, Ctrl-C ends
    the whole call.

    The network learns from up to 200 rows only after a quarter of the epochs, if there are at least
    200 rows. Before, its labels for these rows are compared with those of :class:`PLCL`. If the
    latter are clearly more often candidates, a warning says that the training is not successful.

    The same seed gives the same result on the same machine with the same number of threads. On a
    GPU, this needs ``torch.use_deterministic_algorithms(True)``, which is slower. Run
    parallel fits in processes, not threads, which share PyTorch's random number generator.

    References
    ----------
    .. [1] Lv, Xu, Feng, Niu, Geng, Sugiyama. Progressive identification of true labels for
       partial-label learning. ICML 2020 (PRODEN).
    .. [2] Feng, Lv, Han, Xu, Niu, Geng, An, Sugiyama. Provably consistent partial-label learning.
       NeurIPS 2020 (RC, CC).
    .. [3] Wu, Wang, Zhang. Revisiting consistency regularization for deep partial label learning.
       ICML 2022 (CRDPLL).
    .. [4] Zhang, Cisse, Dauphin, Lopez-Paz. mixup: beyond empirical risk minimization. ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn import DeepPLCL
    >>> images = np.random.default_rng(0).integers(100, size=(20, 6, 6), dtype=np.uint8)
    >>> images[10:] += 100
    >>> y = 5 * [{"dark"}, {"dark", "light"}] + 5 * [{"light"}, {"dark", "light"}]
    >>> model = DeepPLCL(epochs=20, random_state=0).fit(images, y)
    >>> model.predict(images[[0, 10]])
    array(['dark', 'light'], dtype='<U5')
    """

    _parameter_constraints = {
        "module": [str, PathLike, callable],
        "frozen": ["boolean"],
        "loss": [StrOptions({"plcl", "proden", "rc", "cc", "crdpll"})],
        "comp_weight": [_NOT_NEGATIVE, None],
        "ramp": [_SHARE, None],
        "mixup": ["boolean", None],
        "augment": [StrOptions({"auto"}), "array-like", None],
        "epochs": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 2, None, closed="left"), None],
        "lr": [_POSITIVE],
        "weight_decay": [_NOT_NEGATIVE, None],
        "normalize": [StrOptions({"auto"}), "array-like", None],
        "image_size": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "device": [str],
        "checkpoint": [str, PathLike, None],
        "warm_start": ["boolean"],
        "callbacks": ["array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        module: Any = "auto",
        frozen: bool = False,
        loss: str = "plcl",
        comp_weight: float | None = None,
        ramp: float | None = None,
        mixup: bool | None = None,
        augment: Any = "auto",
        epochs: int | None = None,
        batch_size: int | None = None,
        lr: float = 0.05,
        weight_decay: float | None = None,
        normalize: Any = "auto",
        image_size: Any = None,
        device: str = "auto",
        checkpoint: Any = None,
        warm_start: bool = False,
        callbacks: Any = (),
        random_state: RandomState = None,
    ) -> None:
        self.module = module
        self.frozen = frozen
        self.loss = loss
        self.comp_weight = comp_weight
        self.ramp = ramp
        self.mixup = mixup
        self.augment = augment
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.normalize = normalize
        self.image_size = image_size
        self.device = device
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.random_state = random_state

    def fit(self, X: Any, y: AnyCandidates, sample_weight: ArrayLike | None = None) -> Self:
        """Learn a classifier from candidate sets.

        Parameters
        ----------
        X : matrix, images, list of files, or Dataset
            Training rows; see the notes of the class. ``predict``, ``score`` and the other
            functions of the class accept the same forms.
        y : sequence of label collections, mask of shape (n, l), or labels of shape (n,)
            Candidate sets; see :func:`ambilearn.candidates.as_candidates`.
        sample_weight : array-like of shape (n,), optional
            Weight of each row in the loss. The network does not learn from a row of weight zero,
            but the row is disambiguated. If y is a :class:`~ambilearn.CandidateSets` with
            ``row_weights``, both are multiplied.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return super().fit(X, y, sample_weight)

    def _validate_rows(self, X: Any, *, reset: bool = True, **options: Any) -> "DeepRows":
        from ambilearn.deep.rows import DeepRows, check_form, check_rows, is_matrix, to_tensor

        X = check_form(X)
        if is_matrix(X) and (reset or len(self._row_shape) == 1):
            matrix = super()._validate_rows(X, reset=reset, **options)
            rows = DeepRows(matrix.shape, to_tensor(matrix))
        else:
            fitted_to = (None, None) if reset else (self._row_shape, self._learned_bytes)
            rows = check_rows(X, self.image_size, *fitted_to)
            if reset:
                for name in {"n_features_in_", "feature_names_in_"} & set(vars(self)):
                    delattr(self, name)
            if reset and len(rows) < 2:
                raise ValueError("X has 1 row, while a minimum of 2 is required by DeepPLCL.")
        if not reset and rows.shape[1:] != self._row_shape:
            single = sorted(rows.shape) == sorted((1, *self._row_shape))
            hint = " Pass [X] if X is a single image." if single else ""
            raise ValueError(
                f"X has rows of shape {rows.shape[1:]}, but DeepPLCL was fitted to rows of shape "
                f"{self._row_shape}.{hint}"
            )
        if not reset and rows.are_images and self._learned_bytes != rows.are_bytes:
            kinds = "values other than integers from 0 to 255", "integers from 0 to 255"
            given, learned = kinds[rows.are_bytes], kinds[not rows.are_bytes]
            raise ValueError(
                f"The images have {given}, but DeepPLCL was fitted to images with {learned}. "
                "Convert them to the type and range of the training images."
            )
        return rows

    def _check_and_fit(self, X: Any, y: AnyCandidates, sample_weight: ArrayLike | None) -> Self:
        with unchanged_on_error(self) if self.warm_start else nullcontext():
            return super()._check_and_fit(X, y, sample_weight)

    def _own_rows(self, X: Any) -> "DeepRows":
        return self._validate_rows(X, ensure_min_samples=2)

    def _training_rows(self, X: Any) -> TrainingRows:
        return TrainingRows(X, HOST)  # not checked: each fit prepares its rows

    def _fit_rows(self, rows: TrainingRows, sets: CandidateSets) -> Self:
        return self.fit(rows.X, sets)

    def _check_fit_input(
        self, X: Any, y: AnyCandidates, sample_weight: ArrayLike | None
    ) -> tuple["DeepRows", CandidateSets]:
        with requires_extra("deep", purpose="DeepPLCL"):
            from ambilearn.deep.rows import check_form

        X = check_form(X)
        self._previous = vars(self).get("module_") if self.warm_start else None
        if self.warm_start and self.frozen:
            raise ValueError("warm_start and frozen cannot be combined. Set one of them to False.")
        labels: Any = vars(self).get("classes_")
        rows, sets = super()._check_fit_input(X, y, sample_weight)
        if self._previous is not None and not np.array_equal(labels, sets.classes):
            raise ValueError(
                "warm_start=True needs the labels of the previous fit, but they have changed. Use "
                "warm_start=False, or pass CandidateSets with the same classes."
            )
        return rows, sets

    @property
    def _fitted_rows(self) -> None:
        return None  # rows may be anywhere

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        from ambilearn.deep.options import choose_device
        from ambilearn.deep.training import training_state

        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        device = choose_device(self.device)
        with training_state(seed, device):
            self._fit_network(rows.X, candidates, device)
        del self._previous  # frees the memory of the previous network

    def _fit_network(self, X: "DeepRows", candidates: Support, device: "torch.device") -> None:
        import torch

        from ambilearn.deep.augment import CropFlip, identity
        from ambilearn.deep.checkpoint import Checkpoint
        from ambilearn.deep.networks import MLP, Frozen, add_heads
        from ambilearn.deep.options import choose_settings
        from ambilearn.deep.training import Labels, Trainer

        self._never_candidate = ~candidates.sets.to_mask().any(axis=0)
        features = self._make_features(X, device)
        held = self._standardizer.apply(X).to(device)
        prepare = self._standardizer.prepare(held, device)
        two = torch.arange(2)
        network = add_heads(features, prepare(held.batch(two, device)), candidates.n_labels)
        base = None
        if self.frozen:
            base, held = Frozen.of(network, held, prepare)
            held, prepare = held.to(device), identity
            mlp = MLP(held.shape[1]).to(device)
            network = add_heads(mlp, held.batch(two, device), candidates.n_labels)
        if self._previous is not None:
            _copy_weights(self._previous, network)
        settings = choose_settings(self, held, device)
        self._mirror = isinstance(settings.weak, CropFlip) and settings.weak.flip
        trainer = Trainer(network, held, prepare, Labels.of(candidates, device), settings)
        saved = None
        if self.checkpoint is not None:
            saved = Checkpoint(self.checkpoint, trainer, self._describe_run())
            saved.resume()
        try:
            self.history_ = self._run_epochs(trainer, saved)
            self.n_epochs_, self._ended_early = trainer.epoch, trainer.epoch < settings.epochs
            outputs = self._outputs(trainer.average, held, prepare)
        except KeyboardInterrupt:
            if saved is not None:
                saved.write()
            raise
        self.train_output_ = outputs[0]
        confidences = candidates.gather(trainer.final_confidences(*outputs))
        self.label_distributions_ = candidates.as_output(confidences)
        self.module_ = trainer.average
        if base is not None:
            self.module_.features = torch.nn.Sequential(base, self.module_.features).eval()
        if saved is not None and not self._ended_early:
            saved.remove()

    def _make_features(self, X: "DeepRows", device: "torch.device") -> Any:
        """The network of features for the rows; also sets how they are standardized."""
        from ambilearn.deep.networks import Pretrained, choose_features, choose_width
        from ambilearn.deep.options import Standardizer

        if self.frozen and (isinstance(self.module, str) and self.module == "auto"):
            raise ValueError("frozen=True needs a pretrained network: set module, or frozen=False.")
        form = X.shape[1:], X.are_bytes
        width = choose_width(X.shape[1:], device) if X.are_images else 0
        features = choose_features(self.module, X.shape[1:], width).to(device)
        continues = self._previous is not None and form == (self._row_shape, self._learned_bytes)
        given = not isinstance(self.normalize, str)
        if isinstance(features, Pretrained) and not given:
            self._standardizer = Standardizer.for_pretrained(X, features.mean, features.scale)
        elif given or not continues:  # weights need inputs of their scale
            self._standardizer = Standardizer.of(X, self.normalize)
        self._row_shape, self._learned_bytes = form
        is_named = isinstance(self.module, (str, PathLike))
        self._fitted_module = fspath(self.module) if is_named else None
        self.module_hash_ = features.content if isinstance(features, Pretrained) else None
        return features

    def _describe_run(self) -> str:
        """What distinguishes the run, besides rows, candidates, settings and network."""
        seed, scaling = self.random_state, self._standardizer
        described = int(seed) if isinstance(seed, Integral) else None if seed is None else "random"
        return str([scaling.mean.tolist(), scaling.scale.tolist(), described])

    def _run_epochs(self, trainer: "Trainer", saved: "Checkpoint | None") -> list[Any]:
        """Run the epochs that are left, and return their reports."""
        from ambilearn.deep.training import EpochReport, check_left_out_rows, leave_out_rows

        if not all(map(callable, self.callbacks)):
            raise ValueError(
                f"callbacks must be functions of one argument; got {self.callbacks!r}."
            )
        history: list[EpochReport] = []
        n_epochs, began = trainer.settings.epochs, perf_counter()
        leave_out_rows(trainer)
        try:
            while trainer.epoch < n_epochs:
                loss, settled = trainer.run_epoch()
                seconds = perf_counter() - began
                left = seconds / (len(history) + 1) * (n_epochs - trainer.epoch)
                report = EpochReport(trainer.epoch, n_epochs, loss, settled, seconds, left)
                history.append(report)
                check_left_out_rows(trainer)
                name = type(self).__name__
                report_round(Round(name, trainer.epoch, n_epochs, loss, 0.0, str(report)))
                if saved is not None and report.epoch < n_epochs:
                    saved.end_epoch()
                for callback in self.callbacks:
                    callback(report)
        except KeyboardInterrupt:
            if trainer.epoch == 0 or not may_end_early():
                raise
            continued = trainer.epoch < n_epochs and saved is not None and saved.write()
            later = f", and another fit continues from {self.checkpoint}" if continued else ""
            warn_user(
                f"The training was interrupted after epoch {trainer.epoch} of {n_epochs}. The "
                f"model can be used{later}.",
                InterruptedWarning,
            )
        return history

    def _outputs(
        self, network: Any, rows: "DeepRows", prepare: "View"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Outputs f and f̂ of the two heads for standardized rows, each of shape (n, l)."""
        from ambilearn.deep.networks import compute_outputs

        outputs = compute_outputs(network, rows, prepare, mirror=self._mirror)
        ordinary, complementary = (output.numpy() for output in outputs)
        ordinary = np.where(self._never_candidate, 0.0, np.maximum(ordinary, 1e-300))
        return normalize_votes(ordinary), complementary

    def _new_rows(self, X: "DeepRows") -> tuple[Any, "DeepRows", "View"]:
        """The network on its device, and standardized rows with their preparation."""
        from ambilearn.deep.options import choose_device

        device = choose_device(self.device)
        rows = self._standardizer.apply(X)
        return self.module_.to(device), rows, self._standardizer.prepare(rows, device)

    def _scores(self, X: "DeepRows") -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            scores: NDArray[np.float64] = np.log(self._outputs(*self._new_rows(X))[0])
        return np.maximum(scores, -1e3)

    def _confidence_blocks(
        self, X: Any, method: str
    ) -> tuple[Backend, Iterator[NDArray[np.float64]]]:
        return HOST, iter([self._confidences(self._checked_scores(X, method))])

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return normalize_votes(np.exp(scores))

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Features of the rows: the output of the network below the heads.

        Parameters
        ----------
        X : matrix, images, list of files, or Dataset
            Rows in one of the forms that :meth:`fit` takes.

        Returns
        -------
        features : ndarray of shape (n, n_features)
        """
        rows = self._validate_new_rows(X, "transform")
        from ambilearn.deep.networks import compute_features

        return compute_features(*self._new_rows(rows)).numpy()

    @property
    def _n_features_out(self) -> int:
        return int(self.module_.ordinary.in_features)

    _learns_from_images = True
    _row_shape: tuple[int, ...]
    _standardizer: "Standardizer"
    _learned_bytes: bool

    @property
    def _input_shape(self) -> tuple[int, ...]:
        return self._row_shape

    @property
    def _input_type(self) -> type[np.generic]:
        return np.uint8 if self._learned_bytes else np.float64

    def _check_savable(self) -> None:
        if self._fitted_module is None or not isinstance(self.module, (str, PathLike)):
            raise TypeError(
                "A model file can store a DeepPLCL only if its module was 'auto' or a name in fit: "
                "loading another network would execute its code. Save the weights, "
                "model.module_.state_dict(), with safetensors instead."
            )
        for name, plain in (("augment", "auto"), ("callbacks", ())):
            given = getattr(self, name)
            if given is not None and not isinstance(given, str) and len(given):
                raise TypeError(
                    f"A model file cannot store the functions in {name}. Only fit uses them: "
                    f"call model.set_params({name}={plain!r}) before you save the model."
                )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "module_" in state:
            from ambilearn.deep.saving import plain_state

            state = plain_state(state)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_weights" in state:
            with requires_extra("deep", purpose="DeepPLCL"):
                from ambilearn.deep.saving import restore_network

            state = restore_network(state)
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.transformer_tags.preserves_dtype = []  # features are float32
        return tags


def _copy_weights(previous: Any, network: Any) -> None:
    try:
        network.load_state_dict(previous.state_dict())
    except RuntimeError as error:
        raise ValueError(
            "warm_start=True needs the network of the previous fit, but the form of the rows "
            "or module has changed."
        ) from error
