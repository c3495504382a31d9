import Foundation
import Testing
import TrackerCore

/// The widgets (tracker spec B6, section 10.3): geometry, colours, texts, and their content without a session.
@Suite struct WidgetTests {
    private static let circumference = 2 * Double.pi * 84

    @Test(arguments: [(0, 0.0), (1000, 0.5), (1500, 0.75), (2000, 1), (2600, 1)])
    func `the length of the arc is the progress times the circumference`(total: Int, progress: Double) async throws {
        // At wake time no drink is due yet, and none is once the goal is met.
        let client = try await CheckedDay(at: "07:00").serve()
        _ = try await client.server.patch("settings", #"{"hydration.goalMl": 2000}"#)
        try await client.drink(total)
        let svg = try await client.picture("circular.svg")
        let arc = try #require(
            svg.firstMatch(
                of:
                    #/
                    class="progress"[^>]*stroke-width="12"\ stroke-linecap="(butt|round)"
                    \ stroke-dasharray="([0-9.]+)\ ([0-9.]+)"\ transform="rotate\(-90\ 100\ 100\)"
                    /#), "\(svg)")
        #expect(
            abs((Double(arc.2) ?? -1) - progress * Self.circumference) < 0.01
                && abs((Double(arc.3) ?? 0) - Self.circumference) < 0.01)
        // A round cap would draw a dot for an empty arc.
        #expect(arc.1 == (total == 0 ? "butt" : "round"))
        #expect(svg.contains("aria-label=\"\(min(100, total / 20)) %\"") && !svg.contains("rainbow"))
    }

    /// K-A15: while a drink is due, the whole ring is a rainbow, also at 0.
    @Test func `a due drink shows the whole ring as a rainbow on an empty day`() async throws {
        let client = try await CheckedDay(at: "14:00").serve()
        let svg = try await client.picture("circular")
        let parts = svg.matches(
            of:
                #/
                class="rainbow"[^>]*stroke="(\#[0-9A-F]{6})"\ stroke-width="12"
                \ stroke-dasharray="([0-9.]+)\ [0-9.]+"\ transform="rotate\((-?[0-9]+)\ 100\ 100\)"
                /#)
        #expect(parts.map { String($0.1) } == ["#E53935", "#FB8C00", "#FDD835", "#43A047", "#1E88E5", "#8E24AA"])
        #expect(parts.map { Int($0.3) } == [-90, -30, 30, 90, 150, 210])
        #expect(abs(parts.reduce(0) { $0 + (Double($1.2) ?? 0) } - Self.circumference) < 0.01)
        // After the drink it is a ring again.
        try await client.drink(1200)
        #expect(try await !client.picture("circular").contains("rainbow"))
    }

    /// The colour follows the displayed deficit, not the raw urgency: a deficit of 24 ml is not displayed.
    @Test(arguments: [(500, "#42A5F5"), (476, "#42A5F5"), (475, "#FFB300"), (1, "#FFB300"), (0, "#E53935")])
    func `the widget's colour follows the deficit, and its percentage follows the total`(
        total: Int, colour: String
    ) async throws {
        let client = try await CheckedDay(at: "10:00").serve()
        try await client.drink(total)
        for name in ["circular", "corner"] {
            let svg = try await client.picture(name)
            #expect(svg.firstMatch(of: /<path [^>]*fill="(#[0-9A-F]{6})"/).map { String($0.1) } == colour, "\(name)")
            #expect(svg.contains("aria-label=\"\(total / 25) %\""), "\(name)")
        }
        // The text has no card under it and must be readable on black.
        #expect(try await client.picture("corner").contains(/stroke="#FFFFFF"[^>]* paint-order="stroke"/))
        #expect(try await client.picture("corner").contains(">\(total / 25)%</text>"))
    }

    @Test func `widgets show that there is no session`() async throws {
        let day = try CheckedDay()
        let client = try await day.serve()
        try await client.drink(1250)
        #expect(try await Self.words(client.picture("small.svg")) == ["No Session"])
        let total = "1,250 ml / 2,500 ml"
        for name in ["medium.svg", "large.svg"] {
            #expect(try await Self.words(client.picture(name)) == ["No Session", "Start a session", total])
        }
        // The last session's summary replaces the invitation.
        try day.set("12:00")
        _ = try await client.post("session")
        _ = try await client.post("session/drink")
        _ = try await client.post("session/drink")
        try day.set("15:25")
        _ = try await client.post("session/water")
        _ = try await client.post("session/end")
        #expect(try await Self.words(client.picture("small.svg")) == ["No Session"])
        for name in ["medium.svg", "large.svg"] {
            let words = try await Self.words(client.picture(name))
            #expect(words == ["No Session", "Last: 3h 25m, 2 drinks, 1 water", total])
        }
    }

    @Test func `each widget size shows its part of the session`() async throws {
        let day = try CheckedDay(at: "20:00")
        let client = try await day.serve()
        _ = try await client.post("session")
        for (time, path, body) in [
            ("20:10", "drink", "{}"), ("20:20", "drink", #"{"estimate": 1.6}"#), ("20:25", "water", "{}"),
            ("20:30", "drink", "{}"),
        ] {
            try day.set(time)
            _ = try await client.post("session/\(path)", body)
        }
        try day.set("20:32")
        #expect(try await Self.words(client.picture("small.svg")) == ["2.6", "Water due now"])
        // No text overlaps the gauge or leaves the card. A letter is about half as wide as high.
        func stand(_ svg: String) -> [(from: Double, to: Double)] {
            svg.matches(of: /<text x="([0-9.]+)"[^>]* font-size="([0-9.]+)"[^>]*>([^<]+)</).map { match in
                let (x, half) = (Double(match.1) ?? 0, (Double(match.2) ?? 0) * 0.55 * Double(match.3.count) / 2)
                return (x - half, x + half)
            }
        }
        #expect(try await stand(client.picture("small.svg")).allSatisfy { $0.from > 48 && $0.to < 158 })
        let medium = ["2.6", "3 drinks, 1 water", "Water due now", "Next reminder: 8:00"]
        #expect(try await Self.words(client.picture("medium.svg")) == medium)
        // The last three entries, newest first.
        #expect(
            try await Self.words(client.picture("large.svg")) == medium + [
                "20:30  Drink 1", "20:25  Water", "20:20  Drink 1.6",
            ])
        // Tracker spec E5: a red warning at its position on the gauge.
        let mark = try #require(
            try await client.picture("medium.svg").firstMatch(
                of: /class="value" cx="34" cy="([0-9.]+)" r="9" fill="(#[0-9A-F]{6})"/))
        #expect(mark.2 == "#E53935" && abs((Double(mark.1) ?? 0) - (24 + 112 * (1 - (0.5 + 2.6 / 12)))) < 0.01)
        _ = try await client.post("session/water")
        let small = try await client.picture("small.svg")
        #expect(
            Self.words(small) == ["1.6", "Water due in:", "1 drink"]
                && stand(small).allSatisfy { $0.from > 48 && $0.to < 158 }, "\(small)")
        // Below zero with a minus sign, as on the page.
        for _ in 0..<3 { _ = try await client.post("session/water") }
        #expect(try await Self.words(client.picture("small.svg")).first == "−1.4")
    }

    /// The picture expires after a minute, and shared caches must not store it.
    @Test(arguments: ["circular", "corner", "small", "medium", "large"])
    func `a widget image can be cached for a minute`(name: String) async throws {
        let client = try await CheckedDay().serve()
        for path in ["/widget/\(name)", "/widget/\(name).svg"] {
            let reply = try await client.server.ask("GET", path)
            let isPage = !path.hasSuffix(".svg") && ["small", "medium", "large"].contains(name)
            #expect(reply.status == 200)
            #expect(reply.headers["content-type"] == (isPage ? "text/html; charset=utf-8" : "image/svg+xml"))
            #expect(reply.headers["cache-control"] == (isPage ? "no-store" : "private, max-age=60"))
            #expect(reply.headers["refresh"] == "60")
            // Other sites can embed it, and it loads no resources.
            #expect(reply.headers["cross-origin-resource-policy"] == "cross-origin")
            let policy = reply.headers["content-security-policy"] ?? ""
            #expect(policy.contains("frame-ancestors *") && policy.contains("default-src 'none'"), "\(policy)")
        }
    }

    @Test func `the widget page logs once when its button is pressed twice`() async throws {
        let client = try await CheckedDay().serve()
        var headers = client.server.page
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        let page = try await client.picture("large")
        let key = try #require(page.firstMatch(of: /name="key" value="([0-9A-F-]+)"/)).1
        for _ in 0..<2 {
            let reply = try await client.server.ask(
                "POST", "/widget/large?theme=t", "key=\(key)&press=cup", headers: headers)
            #expect(reply.status == 303 && reply.headers["location"] == "large?theme=t", "\(reply.body)")
        }
        #expect(try await client.state()["dailyTotalMl"] as? Int == 250)
        for form in ["press=cup", "key=\(key)&press=purge", "key=1&press=cup", ""] {
            let reply = try await client.server.ask("POST", "/widget/large", form, headers: headers)
            #expect(reply.status == 422, "\(form)")
        }
        #expect(try await client.state()["dailyTotalMl"] as? Int == 250)
    }

    private static func words(_ svg: String) -> [String] { svg.matches(of: />([^<>]+)<\/text>/).map { String($0.1) } }
}
