import Foundation
import Support

/// Mounts that one program sees and nobody else.
enum MountNamespace {
    /// `unshare`'s options for one; `nil` where this machine does not let us.
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
