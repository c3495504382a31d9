import CommandSupport
import Foundation
import Support
import Testing

/// The machine's zone is asked for each time: a person travels while the service runs.
@Suite struct HostZoneTests {
    @Test func theLinkIsReadAnewEachTime() throws {
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
        #expect(zone(["TZ": "CET-1CEST,M3.5.0,M10.5.0/3"]) == "Asia/Tokyo", "a rule is no name")
        #expect(zone(["TZ": "CET-1CEST"]) == "Asia/Tokyo", "a rule is no name")
        // A link to a link; then a copy beside a named file.
        try FileManager.default.moveItem(atPath: link, toPath: folder.file("other"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "other")
        #expect(zone() == "Asia/Tokyo")
        try FileManager.default.removeItem(atPath: link)
        try Data("Australia/Lord_Howe\n".utf8).write(to: folder.url("timezone"))
        #expect(zone() == "Australia/Lord_Howe")
    }
}
