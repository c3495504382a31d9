import Foundation
import Support
import Testing

@Suite struct DoctorFixTests {
    private func doctor(
        _ folder: TemporaryFolder, _ more: [String], link: String = "unix", environment: [String: String] = [:]
    ) async throws -> [String: Any] {
        let way = link == "unix" ? "unix:" + folder.file("none.sock") : link
        let result = try await Program.gateway.run(
            ["doctor", "--json", "--link", way, "--store", folder.file("s.sqlite")] + more,
            environment: ["PATH": folder.file("bin") + ":/usr/bin:/bin"].merging(environment) { $1 })
        return try result.object()
    }

    private func checks(_ object: [String: Any], _ name: String) -> [[String: Any]] {
        (object["checks"] as? [[String: Any]] ?? []).filter { ($0["check"] as? String)?.hasPrefix(name) == true }
    }

    @Test func `doctor reports a store that other users can read and fixes it on request`() async throws {
        let folder = try TemporaryFolder()
        _ = try await Program.tracker.run("log 100 --store \(folder.file("s.sqlite"))")
        chmod(folder.file("s.sqlite"), 0o644)
        let report = try await doctor(folder, [])
        #expect(checks(report, "privacy").first?["fix"] as? String == "chmod 600 \(folder.file("s.sqlite"))")
        #expect(try folder.mode("s.sqlite") == 0o644 && report["repairs"] is NSNull)
        let failed = try await doctor(folder, ["--fix"], environment: ["TMPDIR": "/nowhere"])
        let texts = (failed["repairs"] as? [[String: Any]] ?? []).compactMap { $0["words"] as? String }
        #expect(texts.contains { $0.contains("(cannot create /nowhere/") }, "\(failed)")
        let repaired = try await doctor(folder, ["--fix"])
        let repairs = try #require(repaired["repairs"] as? [[String: Any]])
        #expect(repairs.contains { $0["check"] as? String == "privacy" && $0["done"] as? Bool == true })
        #expect(try folder.mode("s.sqlite") == 0o600 && checks(repaired, "privacy").isEmpty)
    }

    @Test func `doctor reports a dangling store link and counts manual drinks`() async throws {
        let folder = try TemporaryFolder()
        let gone = folder.file("gone.sqlite")
        try folder.link("s.sqlite", to: gone)
        let dangling = checks(try await doctor(folder, []), "store")
        #expect(
            dangling.first?["status"] as? String == "bad"
                && (dangling.first?["found"] as? String)?.hasSuffix("is a link to \(gone), which does not exist")
                    == true,
            "\(dangling)")
        for amount in ["100", "8oz"] { _ = try await Program.tracker.run(["log", amount, "--store", gone]) }
        let found = checks(try await doctor(folder, []), "store")
        #expect(
            (found.first?["found"] as? String)?.hasSuffix(": 2 drinks; 0 records from bottles, 0 quarantined") == true,
            "\(found)")
    }

    @Test(arguments: ["dd if=/dev/zero of=$0/fill bs=4k 2>/dev/null; true", "mount -o remount,ro $0"])
    func `doctor reports a full disk and a read-only disk`(damage: String) async throws {
        let folder = try TemporaryFolder()
        let unshare = try #require(Program(system: "unshare"))
        let words = (geteuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["--mount"]
        guard try await unshare.run(words + ["true"]).exitCode == 0 else { return }
        let path = Program.products + ":/usr/bin:/bin:/usr/sbin:/sbin"
        let line = """
            mount -t tmpfs -o size=4m none $0 && waterh-tracker log 100 --store $0/s.sqlite >/dev/null && \(damage)
            waterh-gateway doctor --json --link unix:$0/none.sock --store $0/s.sqlite
            waterh-tracker check --doctor --json --store $0/s.sqlite >&2
            """
        let result = try await unshare.run(words + ["sh", "-c", line, folder.path], environment: ["PATH": path])
        let object = try result.object()
        let found = checks(object, "store")
        #expect(
            object["ok"] as? Bool != true && found.count == 1
                && (found.first?["found"] as? String)?.contains(damage.hasPrefix("dd") ? "full" : "is not writable")
                    == true,
            "\(found)")
        #expect(result.error.contains(damage.hasPrefix("dd") ? " is full\"" : " is not writable\""), "\(result.error)")
    }

    @Test func `doctor --fix repairs as root and prints the command for other users`() async throws {
        let folder = try TemporaryFolder()
        for name in ["modprobe", "rfkill", "systemctl", "busctl", "bluetoothctl"] {
            try folder.write("#!/bin/sh\necho \"\(name) $*\" >>\(folder.file("called"))\n", to: "bin/\(name)")
            chmod(folder.file("bin/\(name)"), 0o755)
        }
        let object = try await doctor(folder, ["--fix"], link: "bluez")
        let broken = (object["checks"] as? [[String: Any]] ?? []).filter {
            $0["status"] as? String == "bad" && $0["fix"] is String
        }
        let called = (try? folder.text("called")) ?? ""
        let repairs = object["repairs"] as? [[String: Any]] ?? []
        for check in broken {
            let line = try #require(check["fix"] as? String)
            let repair = try #require(repairs.first { ($0["words"] as? String)?.hasPrefix(line) == true }, "\(check)")
            // As root the command line runs. For other users a line that begins with sudo is only printed.
            #expect(
                line.hasPrefix("sudo ") ? repair["done"] as? Bool == false : called.contains(line),
                "\(repair) \(called)")
        }
        if geteuid() != 0 { #expect(!called.contains("modprobe") && !called.contains("systemctl")) }
    }
}

@Suite(.timeLimit(.minutes(3))) struct BrokerDoctorTests {
    private struct Check: Decodable {
        var check, status, found: String
        var advice: String?
    }
    private struct Report: Decodable { var checks: [Check] }

    private func mqtt(_ folder: TemporaryFolder, _ lines: String, store: String = "s.sqlite") async throws -> Check? {
        try folder.write(
            "link = \"unix:\(folder.file("none.sock"))\"\nstore = \"\(folder.file(store))\"\n\(lines)",
            to: "waterh.toml")
        let result = try await Program.gateway.run("doctor --json --config \(folder.file("waterh.toml"))")
        let report = try JSONDecoder().decode(Report.self, from: Data(result.outputBytes))
        return report.checks.first { $0.check == "mqtt" }
    }

    @Test func `doctor reports whether the broker accepts the login`() async throws {
        let folder = try TemporaryFolder()
        #expect(try await mqtt(folder, "") == nil)
        let open = try await Broker()
        let closed = try await Broker { _ in ["allow_anonymous false"] }
        mkfifo(folder.file("pipe"), 0o600)
        let pipe = "\nuser = \"a\"\npassword-file = \"\(folder.file("pipe"))\""
        for (url, more, status, found, advice) in [
            (open.url, "", "good", "\(open.url) at hydration", nil),
            (open.url, "", "good", "accepts the connection", nil),
            (closed.url, "", "bad", "rejects", "password-file"),
            ("mqtt://127.0.0.1:1", "", "bad", "cannot be reached", "url = "),
            ("mqtts://127.0.0.1:\(open.port)", "", "bad", "No TLS connection", "url = "),
            (open.url, pipe, "bad", "is a pipe", nil),
        ] as [(String, String, String, String, String?)] {
            let check = try #require(try await mqtt(folder, "[mqtt]\nurl = \"\(url)\"\(more)\n"))
            #expect(check.status == status && check.found.contains(found), "\(check)")
            if let advice { #expect(check.advice?.contains(advice) == true, "\(check)") }
        }
        #expect(!folder.has("s.sqlite"))
        let subscriber = try await open.listen("#")
        try await open.publish("end", "x")
        _ = try await subscriber.line { $0 == "0 end x" }
        #expect(subscriber.output == "0 end x\n", "the doctor publishes nothing")
    }

    @Test func `doctor reports a topic prefix of another store`() async throws {
        let (broker, folder) = (try await Broker(), try TemporaryFolder())
        let lines = "[mqtt]\nurl = \"\(broker.url)\"\n"
        try folder.write(
            """
            link = \"unix:\(folder.file("none.sock"))\"\nstore = \"\(folder.file("other.sqlite"))\"\nlisten = \
            \"off\"\n\(lines)
            """, to: "other.toml")
        let service = try Program.gateway.start("run --config \(folder.file("other.toml"))")
        let subscriber = try await broker.listen("hydration/bridge/info")
        #expect(await eventually { !subscriber.output.isEmpty }, "\(service.error)")
        let taken = try #require(try await mqtt(folder, lines))
        #expect(
            taken.status == "bad" && taken.found.contains("another store (waterh-")
                && taken.advice?.contains("settings set mqtt.prefix NAME") == true, "\(taken)")
        #expect(try await mqtt(folder, lines, store: "other.sqlite")?.status == "good")
        #expect(try await mqtt(folder, lines + "prefix = \"mine\"\n")?.status == "good")
        try await service.stop()
    }
}
