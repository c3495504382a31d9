@testable import CommandSupport
import Foundation
import Support
import Testing

/// The commands use the socket of this user's service or of the system's service, and of no other user.
@Suite struct ServiceSocketTests {
    @Test(.enabled(if: geteuid() == 0)) func `a socket of another user receives nothing`() async throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o1777)
        let path = folder.file("s.sock")
        let shell = try #require(Program(system: "sh"))
        // Another process makes the copy: a file that the test process has open for writing cannot be executed while
        // other tests start programs.
        let line =
            """
            umask 000; cp '\(Program("waterh-emulator").path)' '\(folder.file("squatter"))' && exec setpriv \
            --reuid=65534 --regid=65534 --clear-groups '\(folder.file("squatter"))' run --link unix:\(path).link \
            --control unix:\(path)
            """
        let squatter = try shell.start(
            ["-c", line], environment: ["HOME": folder.path, "TMPDIR": folder.path, "XDG_RUNTIME_DIR": folder.path])
        #expect(await event { FileManager.default.fileExists(atPath: path) ? true : nil } == true, "\(squatter.error)")
        let socket = ServiceSocket(path: path)
        let failure = await event { () -> CommandFailure? in
            do { _ = try socket.get("/"); return nil } catch let failure as CommandFailure {
                return failure.sentence.contains("No service") ? nil : failure
            } catch { return nil }
        }
        #expect(
            failure?.status == .failed
                && failure?.sentence.contains("Another user's program listens at \(path)") == true,
            "\(failure?.sentence ?? "")")
        #expect(!socket.isAnswering)
        try await squatter.stop()
    }

    /// The service's user is trusted if the folder belongs to that user alone.
    @Test(.enabled(if: geteuid() == 0)) func `the runtime directory identifies the system service`() throws {
        let folder = try TemporaryFolder()
        let socket = ServiceSocket(path: folder.file("s.sock"))
        #expect(socket.mayBeService(0) && !socket.mayBeService(4242))
        chown(folder.path, 4242, 4242)
        for (mode, isTrusted) in [(0o750, true), (0o700, true), (0o770, false), (0o1777, false)] as [(mode_t, Bool)] {
            chmod(folder.path, mode)
            #expect(socket.mayBeService(4242) == isTrusted && !socket.mayBeService(4243))
        }
    }

    /// The user's own folder or, if another user created that first, one next to the store.
    @Test(arguments: ["nothing", "own", "readable", "link", "file", "open", "another's"])
    func `without a session the socket is in a private directory`(_ found: String) async throws {
        guard found != "another's" || geteuid() == 0 else { return }
        let (folder, files) = (try TemporaryFolder(), FileManager.default)
        let usual = folder.file("waterh-\(geteuid())")
        switch found {
        case "nothing": break
        case "link":
            try files.createDirectory(
                atPath: folder.file("elsewhere"), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            try files.createSymbolicLink(atPath: usual, withDestinationPath: folder.file("elsewhere"))
        case "file": try Data().write(to: URL(fileURLWithPath: usual))
        default:
            try files.createDirectory(atPath: usual, withIntermediateDirectories: true)
            chmod(usual, ["own": 0o700, "readable": 0o755, "open": 0o777][found] ?? 0o700)
            if found == "another's" { chown(usual, 65534, 65534) }
        }
        let result = try await Program("waterh-gateway").run(
            ["nudge", "--store", folder.file("s.sqlite")],
            environment: [
                "XDG_RUNTIME_DIR": "", "TMPDIR": folder.path, "HOME": folder.path,
                "XDG_STATE_HOME": folder.file("state"),
            ])
        let place = ["nothing", "own", "readable"].contains(found) ? usual : folder.file("state/waterh/run")
        #expect(result.exitCode == 1 && result.error.contains("nothing listens at \(place)/waterh-"), "\(result.error)")
        var status = stat()
        #expect(lstat(place, &status) == 0 && status.st_mode & 0o777 == 0o700 && status.st_uid == geteuid())
    }
}
