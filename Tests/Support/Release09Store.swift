/// A store of version 0.9: two years of drinks, 40 records of a bottle, a session, tokens, presets and settings.
package enum Release09Store {
    struct UnpackingFailed: Error {
        var message: String
    }

    /// Writes the store to a new file. This needs `xz` (Debian: xz-utils).
    package static func unpack(to path: String) async throws {
        let packed = Program.repository + "/Tests/StoreTests/Data/store-0.9.sqlite.xz"
        let result = try await Program(path: "/bin/sh").run(["-c", #"xz -dc "$0" > "$1""#, packed, path])
        guard result.exitCode == 0 else { throw UnpackingFailed(message: result.error) }
    }
}
