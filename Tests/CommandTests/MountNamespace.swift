import Foundation
import Support

/// Mounts that only one program sees.
enum MountNamespace {
    /// Options of `unshare` for a mount namespace; `nil` where the machine does not permit it.
    static let words: [String]? = {
        for words in [
            ["--mount", "--propagation", "private"], ["--map-root-user", "--mount", "--propagation", "private"],
        ] {
            guard let unshare = Program(system: "unshare") else { return nil }
            let trial = Process()
            trial.executableURL = URL(fileURLWithPath: unshare.path)
            trial.arguments = words + ["mount", "-t", "tmpfs", "trial", "/mnt"]
            trial.standardError = FileHandle.nullDevice
            guard (try? trial.run()) != nil else { return nil }
            trial.waitUntilExit()
            if trial.terminationStatus == 0 { return words }
        }
        return nil
    }()
}
