import ArgumentParser

/// Whether to follow a capture that is still growing.
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
