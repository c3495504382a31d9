import ArgumentParser

/// The `--follow` option, for a capture that is still growing.
struct FollowArguments: ParsableArguments {
    @Flag(
        help:
            """
            Continue while the file grows, until Ctrl-C. A file that is replaced or truncated is read from the start \
            again.
            """
    )
    var follow = false
}
