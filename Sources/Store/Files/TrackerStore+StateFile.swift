import Foundation
import GRDB
import Synchronization

extension TrackerStore {
    /// `STORE-state.json` next to the store, for other programs; `nil` for a store in memory.
    package var stateFile: String? { path == ":memory:" ? nil : path + StateFile.suffix }

    /// Replaces the state file, readable by its owner only. No fsync, because each change writes it again.
    package func writeStateFile(_ bytes: [UInt8]) throws {
        guard let file = stateFile else { return }
        try StateFile.writeLock.withLock { _ in
            // Several services can use one store, so the temporary name is unique.
            let new = "\(file).\(getpid())\(StateFile.unfinished)"
            unlink(new)
            let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw StateFile.failure(errno, file) }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            do {
                try handle.write(contentsOf: bytes)
                try handle.close()
                guard rename(new, file) == 0 else { throw StateFile.failure(errno, file) }
            } catch {
                unlink(new)
                throw error
            }
        }
    }
}

enum StateFile {
    static let suffix = "-state.json"
    /// The suffix of an incomplete file.
    static let unfinished = ".new"
    /// Serialises the writers of this process.
    static let writeLock = Mutex(())

    static func name(beside store: String) -> String { URL(fileURLWithPath: store).lastPathComponent + suffix }

    /// The incomplete files of killed processes.
    static func unfinishedFiles(_ name: String, in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter {
            $0.hasPrefix(name + ".") && $0.hasSuffix(unfinished)
        }
    }

    static func failure(_ code: Int32, _ file: String) -> StoreError {
        StoreError(.inputOutput, "Writing the state file failed: \(String(cString: strerror(code)))", at: file)
    }
}
