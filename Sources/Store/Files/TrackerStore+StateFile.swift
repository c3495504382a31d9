import Foundation
import GRDB
import Synchronization

extension TrackerStore {
    /// Where programs that ask nobody read the state: `STORE-state.json` beside the store, `STORE` being the store's
    /// own file name. `nil` for a store in memory.
    package var stateFile: String? { path == ":memory:" ? nil : path + StateFile.ending }

    /// Puts the state there, for its owner alone. Who reads the file meanwhile has the old state or the new one, whole.
    ///
    /// It is made anew at each change, so it need not survive a loss of power: it is not forced to the disk.
    package func writeStateFile(_ bytes: [UInt8]) throws {
        guard let file = stateFile else { return }
        try rememberFile(StateFile.name(beside: path))
        try StateFile.turn.withLock { _ in
            // Several services may be on one store: each has a name of its own for what is not whole yet.
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

    /// Before a file is made: whatever happens then, a purge finds it.
    private func rememberFile(_ name: String) throws {
        guard
            try !read({ db in
                try Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM written_file WHERE name = ?)", arguments: [name]) ?? false
            })
        else { return }
        try write { db in try db.execute(sql: "INSERT OR IGNORE INTO written_file (name) VALUES (?)", arguments: [name])
        }
    }
}

/// The state's file beside a store.
enum StateFile {
    static let ending = "-state.json"
    /// How a file ends that is being written, and what a killed program leaves.
    static let unfinished = ".new"
    /// One at a time in this process.
    static let turn = Mutex(())

    /// Relative to the store's folder.
    static func name(beside store: String) -> String { URL(fileURLWithPath: store).lastPathComponent + ending }

    /// What programs left that were killed while they wrote it.
    static func leftovers(_ name: String, in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter {
            $0.hasPrefix(name + ".") && $0.hasSuffix(unfinished)
        }
    }

    static func failure(_ code: Int32, _ file: String) -> StoreError {
        StoreError(.inputOutput, "The state's file cannot be written: \(String(cString: strerror(code)))", at: file)
    }
}
