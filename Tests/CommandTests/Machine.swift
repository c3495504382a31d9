import Foundation
import GRDB
import Support
import Testing

/// Shifts the host clock for selected programs, also while they run (`Tests/System/clock_shift.c`).
struct ClockShift {
    private let library: String
    private let file: URL

    init(in folder: TemporaryFolder) async throws {
        (library, file) = (folder.file("clock_shift.so"), folder.url("shift"))
        let gcc = try #require(Program(system: "gcc"), "this test needs gcc: apt-get install gcc libc6-dev")
        let built = try await gcc.run([
            "-shared", "-fPIC", "-O1", "-o", library, Program.repository + "/Tests/System/clock_shift.c", "-ldl",
        ])
        #expect(built.exitCode == 0, "\(built.error)")
        try Data(count: 8).write(to: file)
    }

    /// The environment of a program that sees the shifted clock.
    var environment: [String: String] {
        ["LD_PRELOAD": library, "CLOCK_SHIFT": file.path, "SWIFT_BACKTRACE": "enable=no"]
    }

    /// Sets the shift from now on. Writes in place, because programs have the file mapped.
    func set(seconds: Int64) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: withUnsafeBytes(of: seconds.littleEndian) { Data($0) })
        try handle.close()
    }
}

/// Time zones chosen by their current time of day.
enum DueNow {
    /// A zone in which it is early afternoon now, so that a reminder is due.
    static var zone: String { zone(at: 14) }

    /// A zone in which it is this hour now.
    static func zone(at hour: Int) -> String {
        let now = Int(Date().timeIntervalSince1970) / 3600 % 24
        let east = (hour - now + 36) % 24 - 12
        return east == 0 ? "Etc/UTC" : "Etc/GMT\(east > 0 ? "-" : "+")\(east.magnitude)"
    }
}

/// Support for mounts that only one process sees.
enum MountNamespace {
    /// Options of `unshare` for a mount namespace; `nil` where the machine does not permit it.
    static let unshareOptions: [String]? = {
        for options in [
            ["--mount", "--propagation", "private"], ["--map-root-user", "--mount", "--propagation", "private"],
        ] {
            guard let unshare = Program(system: "unshare") else { return nil }
            let trial = Process()
            trial.executableURL = URL(fileURLWithPath: unshare.path)
            trial.arguments = options + ["mount", "-t", "tmpfs", "trial", "/mnt"]
            trial.standardError = FileHandle.nullDevice
            guard (try? trial.run()) != nil else { return nil }
            trial.waitUntilExit()
            if trial.terminationStatus == 0 { return options }
        }
        return nil
    }()
}

/// The database of a store, as another program opens it.
struct StoreFile {
    let path: String

    init(_ path: String) { self.path = path }

    /// The rows of a query, each with its columns as text; NULL is an empty text.
    func rows(_ query: String) throws -> [[String]] {
        try open().read { database in
            try Row.fetchAll(database, sql: query).map { row in
                row.databaseValues.map { String.fromDatabaseValue($0) ?? "\($0.storage.value ?? "")" }
            }
        }
    }

    func execute(_ statement: String) throws { try open().write { try $0.execute(sql: statement) } }

    private func open() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}

/// Another process that has a write transaction open on a store.
struct StoreLock {
    private let holder: RunningProgram

    init(_ store: String) async throws {
        let script = """
            import signal, sqlite3, sys; c = sqlite3.connect(sys.argv[1], 30, isolation_level=None)
            c.execute('BEGIN IMMEDIATE'); print('held', flush=True); signal.pause()
            """
        holder = try Program.python.start(["-c", script, store])
        _ = try await holder.line { $0 == "held" }
    }

    func release() async throws { try await holder.kill() }
}
