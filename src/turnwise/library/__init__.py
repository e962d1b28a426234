"""What commands share beside their settings: data as files, results and what is said about them."""

TYPE_CHECKING = False

if TYPE_CHECKING:  # names that command lines without a class import from here
    from turnwise.library.attacking import attack as attack
    from turnwise.library.attacking import harden as harden
    from turnwise.library.estimating import calibrate as calibrate
    from turnwise.library.estimating import ope as ope
    from turnwise.library.making import respond as respond
    from turnwise.library.making import simulate as simulate
    from turnwise.library.making import train as train
    from turnwise.library.planning import power as power
    from turnwise.library.scoring import compare as compare
    from turnwise.library.scoring import meta_evaluate as meta_evaluate
else:

    def __getattr__(name: str) -> object:
        import turnwise

        if name not in turnwise.__all__:
            raise AttributeError(f"module `turnwise.library` has no `{name}`", name=name)
        return getattr(turnwise, name)
