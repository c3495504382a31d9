import CommandSupport
import Foundation
import Support
import Testing

/// The host's time zone can change while the service runs, so it is read each time.
@Suite struct HostZoneTests {
    @Test func `the time zone link is read at each use`() throws {
        let folder = try TemporaryFolder()
        let link = folder.file("localtime")
        func zone(_ variables: [String: String] = [:]) -> String {
            HostZone.id(variable: variables["TZ"], localtime: link, timezone: folder.file("timezone"))
        }
        for (target, expected) in [
            ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
            ("../usr/share/zoneinfo/America/New_York", "America/New_York"),
            ("/usr/share/zoneinfo/posix/Asia/Tokyo", "Asia/Tokyo"),
        ] {
            try? FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            #expect(zone() == expected)
        }
        #expect(
            zone(["TZ": "Europe/Lisbon"]) == "Europe/Lisbon"
                && zone(["TZ": ":/usr/share/zoneinfo/Asia/Kathmandu"]) == "Asia/Kathmandu")
        for name in ["Etc/GMT+5", "US/Eastern", "UTC"] {
            #expect(zone(["TZ": name]) == name, "a zone that Foundation's list leaves out")
        }
        #expect(zone(["TZ": ""]) == "Asia/Tokyo" && zone(["TZ": ":" + link]) == "Asia/Tokyo")
        // A symbolic link to a link, then a copy next to a named file.
        try FileManager.default.moveItem(atPath: link, toPath: folder.file("other"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "other")
        #expect(zone() == "Asia/Tokyo")
        try FileManager.default.removeItem(atPath: link)
        try Data("Australia/Lord_Howe\n".utf8).write(to: folder.url("timezone"))
        #expect(zone() == "Australia/Lord_Howe")
    }

    /// Days and the bottle's clock depend on the zone: UTC as a fallback would shift both.
    @Test(arguments: ["JST-9", "CET-1CEST,M3.5.0,M10.5.0/3", ":Mars/Olympus", "nowhere"])
    func `a time zone without an IANA name is an error`(variable: String) async throws {
        let folder = try TemporaryFolder()
        let environment = [
            "TZ": variable, "WATERH_ZONE": "", "WATERH_STORE": folder.file("s.sqlite"), "HOME": folder.path,
            "XDG_CONFIG_HOME": folder.path, "XDG_STATE_HOME": folder.path,
        ]
        for (program, words) in [("waterh-tracker", ["status"]), ("waterh-gateway", ["poll", "--link", "unix:x"])] {
            let result = try await Program(program).run(words, environment: environment)
            #expect(result.exitCode == 2 && result.error.contains("is not an IANA name"), "\(result)")
        }
        let named = try await Program("waterh-tracker").run(
            ["status", "--zone", "Asia/Tokyo"], environment: environment)
        #expect(named.exitCode == 0, "\(named)")
    }
}
