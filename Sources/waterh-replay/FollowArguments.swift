import ArgumentParser

/// Whether a capture is read on while somebody still writes it.
struct FollowArguments: ParsableArguments {
    @Flag(
        help:
            """
            Read on while the file grows, until Ctrl-C; when another file takes its name or it is cut, that is \
            told and read from its beginning.
            """
    )
    var follow = false
}
